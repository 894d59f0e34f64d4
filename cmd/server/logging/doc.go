// Package logging decides what the process logs, and how often.
//
// [NewHandler] returns the handler of all lines: as text or JSON, with one scale of levels for the service
// and client-go, with every unprintable character escaped, and with at most three warnings of a kind in a
// minute. [NewConnectionLog] returns the logger for servers of net/http, whose lines clients cause. [Failures]
// decides which errors of something that is tried again and again are logged.
//
// A client, a collector or a lost API server that makes the service log lines cannot fill the log: lines are
// bounded in number and in length. logging imports no other package of the service.
package logging
