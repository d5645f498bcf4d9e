"""``python -m zoo`` is the ``zoo`` command."""

from zoo.cli import main

if __name__ == "__main__":
    main()
