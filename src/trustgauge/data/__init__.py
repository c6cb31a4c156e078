"""What we ship: attributes, word lists and sentences, each file with a data card beside it."""
