"""``python -m zoo`` is the ``zoo`` command."""

import sys

try:
    from zoo.cli import main
except KeyboardInterrupt:
    sys.exit(130)

if __name__ == "__main__":
    main()
