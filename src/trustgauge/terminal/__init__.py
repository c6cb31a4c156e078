"""What the verbs of the command line share: options, progress, consent, exit codes."""
