"""The gRPC transports for asyncio and for threads. Only this package does I/O.

Both transports are small and written by hand. The code that uses them is written for
asyncio, and the code for threads is generated from it.

The package is imported before all others that import grpc. gRPC's C++ library writes lines to
stderr, such as those of failed TLS handshakes, whose errors are also raised. It reads the variable
that prevents this when it is imported.
"""

import os

if "GRPC_VERBOSITY" in os.environ:
    import grpc as grpc
else:
    os.environ["GRPC_VERBOSITY"] = "NONE"
    import grpc as grpc

    del os.environ["GRPC_VERBOSITY"]  # which is for programs that this one runs
