"""`python -m rankloop` is the command, too."""

from rankloop.cli import main

if __name__ == "__main__":
    main()
