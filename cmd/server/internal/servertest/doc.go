// Package servertest has what the tests of several packages of the binary share: the lines that a test
// logs, certificates, and the value of a metric. Only tests import it, and it imports no package of the
// service, so that the tests of each of them can.
package servertest
