"""The catalogue of ratings: pages and an API over a database, one removable application."""
