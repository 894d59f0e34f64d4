"""``python -m kubeconnect`` runs the command line."""

from kubeconnect._cli import entry

if __name__ == "__main__":
    entry()
