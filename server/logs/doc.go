// Package logs implements PodService: GetLogs reads one log, and GetLogLines the lines of many, as one sequence.
//
// Logs are opened at the API server as the caller, which checks the caller's permission then. Afterwards the access lease of the
// stream re-checks it. The pods of GetLogLines are selected like those of a list, and followed like those of a watch; what becomes
// of their lines is decided by server/loglines, which this package feeds with pods and open logs.
//
// A stream is never silent for longer than ten seconds: it sends an empty message when there is nothing to send, and while
// the permission cannot be checked.
//
// The logs that are open, and those that a client leaves unread, are bounded for each caller.
package logs
