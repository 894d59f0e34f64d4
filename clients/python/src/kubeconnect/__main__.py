"""``python -m kubeconnect`` runs the command line."""

import sys

from kubeconnect._cli import main

if __name__ == "__main__":
    sys.exit(main())
