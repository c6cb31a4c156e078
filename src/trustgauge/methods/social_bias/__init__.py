"""Social bias of chatbots (BiasAsker, ESEC/FSE 2023): which groups a service associates with what."""
