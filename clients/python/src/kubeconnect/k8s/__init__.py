"""Built-in kinds as protobuf messages: ``from kubeconnect.k8s.core.v1 import Pod``.

There is a module for each version of an API group, named as in Go's k8s.io/api
(``rbac.v1``, not ``rbac.authorization.k8s.io``). It is loaded when it is imported, together
with the modules of the messages that its own messages contain. ``helpers`` has the conversions
between messages and Python values.

The messages have the names, fields and full names (``k8s.io.api.core.v1.Pod``) of Kubernetes'
own .proto files, and a descriptor pool of their own. A program can therefore also load
other generated code for these files, in any version, into protobuf's default pool. The classes
of the two are different: a message of one cannot be assigned to a field of the other.
"""

from kubeconnect._kinds import GroupVersionKind, KindMessage, kind_of

__all__ = ["GroupVersionKind", "KindMessage", "kind_of"]

for _name in __all__:
    globals()[_name].__module__ = __name__
