"""Runs the command line of the client. Ctrl-C ends it, also where SIGINT is ignored, as in the
background of a shell.
"""

import runpy
import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("kubeconnect", run_name="__main__")
