"""Connections into containers: commands, attached clients, ports and copies.

They are requests of Kubernetes' own API, which the service passes on to the API server as the
caller, and which become WebSockets. ``aio`` and ``sync`` have the I/O, with the same names, so that
the code for threads can be generated. All other modules do none.
"""
