"""Trust in chatbots, personal to whoever asks (Srivastava et al. 2020)."""
