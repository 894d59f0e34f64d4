// Package monitoring has what the tests of the alerts and of the dashboard share. The rules are
// deploy/kubeconnect/files/rules.yaml, and the dashboard is dashboard.json in the same folder. The
// chart installs both.
package monitoring
