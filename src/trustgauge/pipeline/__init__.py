"""The one path from plan to label.

path       asks and writes the run's folder
subjects   who is asked what
estimate   calls, cost and time before anything is sent
derive     from kept answers to ratings, pure
issue      what rating.json says of the run
verify     re-derives a run from its answers
probing    one call to each service
inference  what follows for a chain of rated services
"""
