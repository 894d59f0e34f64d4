"""The API's messages and stubs, generated from ``proto/kubeconnect/v1``.

``generate.py`` writes all files of this package except this one. Use them for calls and
fields that the client does not offer.
"""
