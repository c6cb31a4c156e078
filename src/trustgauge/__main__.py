"""`python -m trustgauge` is the command `trustgauge`."""

from trustgauge.cli.main import main

if __name__ == "__main__":
    main()
