"""The API's own messages and stubs, generated from ``proto/kubeconnect/v1``.

Everything here but this file is written by ``generate.py``. Use it for what the
hand-written face does not offer.
"""
