// Package config reads the settings of the service, validates them, and follows their file.
//
// [Parse] reads flags, environment variables and the configuration file, in this precedence. The flags
// (flags.go) define all three: --caller-max-streams is KUBECONNECT_CALLER_MAX_STREAMS and the field
// callerMaxStreams. A [Settings] that is returned without an error is valid; an error names the flag, variable
// or field that has to be corrected.
//
//	read, err := config.Parse(os.Args[1:], os.LookupEnv, nil)
//	reloader := config.NewReloader(os.Args[1:], os.LookupEnv, read, level) // nil without a file
//
// A [Reloader] passes on the settings of a changed file. Only limits and the log can change while the service
// runs; for the others it logs that a restart is needed. A file that cannot be used changes nothing.
//
// config does not know what the settings are used for: it imports neither informerhub nor serving, and no client
// of the cluster.
package config
