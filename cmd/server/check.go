package main

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/cmd/server/config"
	"github.com/kubeconnect/kubeconnect/cmd/server/preflight"
	"github.com/kubeconnect/kubeconnect/cmd/server/serving"
	"github.com/kubeconnect/kubeconnect/informerhub"
)

const checkCommand = "check"

const checkHead = `Try what the service needs, without serving: the configuration, the connection to the cluster,
certificates, clocks, and each permission that the chosen features need. It changes nothing.

Usage:
  kubeconnect check [flags]

Give it the flags, variables and the configuration file of the service, and run it where the
service runs, with its credential. Each line is a check:

  ok       nothing to do
  warning  a part of the service is slower or missing, which may be intended
  failed   the service does not serve what the configuration asks for

A missing permission comes with the command that grants it. The exit code is 1 if a check has
failed, and 0 otherwise.

Flags:
`

func checkUsage() string {
	return checkHead + outputFlags(new(string)).FlagUsagesWrapped(config.UsageColumns) +
		"\nAll flags of the service; see kubeconnect help.\n"
}

// runCheck runs the command "check".
func runCheck(ctx context.Context, args []string, out io.Writer) error {
	var output string
	read, err := config.Parse(args, os.LookupEnv, outputFlags(&output))
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the results say it
	results := checkAll(ctx, read, err)
	if output == outputJSON {
		err = printJSON(out, results)
	} else {
		_, err = io.WriteString(out, describeResults(results))
	}
	if failed := count(results, preflight.Failed); err == nil && failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(results))
	}
	return err
}

// checkAll returns the results of all checks. invalid is the error of the settings, or nil.
func checkAll(ctx context.Context, read *config.Parsed, invalid error) []preflight.Result {
	results := []preflight.Result{checkSettings(read, invalid)}
	if invalid != nil {
		return results
	}
	results = append(results, checkDescriptors(serving.OpenFiles(), read.MaxConnections), checkCertificate(read.Settings, time.Now()))
	results = append(results, checkAudit(read.Settings)...)
	cluster, err := clusterConfig(read.Settings)
	if err != nil {
		return append(results, failed("kubeconfig", err.Error(), "The service does not start.", "Set --kubeconfig, or correct the file."))
	}
	decided, err := newScopes(cluster, read.Settings)
	if err != nil {
		return append(results, failed("kubeconfig", err.Error(), "The service does not start.", "Correct the kubeconfig."))
	}
	hub, err := newHub(cluster, read.Settings, nil, decided)
	if err != nil {
		return append(results, failed("kubeconfig", err.Error(), "The service does not start.", "Correct the kubeconfig."))
	}
	defer hub.Close()
	return append(results, preflight.Run(ctx, featuresOf(read.Settings, cluster, hub))...)
}

// featuresOf returns what the settings need from the cluster.
func featuresOf(s config.Settings, cluster *rest.Config, hub *informerhub.Hub) preflight.Features {
	return preflight.Features{
		Cluster:              cluster,
		Resolver:             hub.Resolver(),
		Namespaces:           hub.Namespaces,
		AuthenticatesCallers: s.Auth == config.AuthCluster,
		FollowsTokens:        config.FollowedTTL(s.Reviews.TokenInterval) > 0,
		Impersonates:         s.WriteAs == config.WriteAsImpersonate,
		Constrained:          s.WriteAs == config.WriteAsConstrainedImpersonate,
		Preload:              s.Preload,
		Limits:               s.CacheLimits(),
		IssuerURL:            s.OIDC.IssuerURL,
		EndpointOrigins:      s.OIDC.EndpointOrigins,
		Peers:                s.Peers,
	}
}

func failed(check, found, consequence, remedy string) preflight.Result {
	return preflight.Result{Check: check, Outcome: preflight.Failed, Found: found, Consequence: consequence, Remedy: remedy}
}

func checkSettings(read *config.Parsed, invalid error) preflight.Result {
	const check = "configuration"
	switch {
	case invalid != nil:
		return failed(check, invalid.Error(), "The service does not start.", "Correct it; kubeconnect help and docs/flags.md have all flags.")
	case len(read.Shadowed) > 0:
		return preflight.Result{
			Check: check, Outcome: preflight.Warning,
			Found:       read.Settings.Config + ": flags or variables override " + strings.Join(read.Shadowed, ", "),
			Consequence: "These fields have no effect, also when the file is reloaded.",
			Remedy:      "Remove them from the file, or remove the flags and variables.",
		}
	case read.Settings.Config != "":
		return preflight.Result{Check: check, Outcome: preflight.OK, Found: read.Settings.Config + ", flags and variables are valid"}
	}
	return preflight.Result{Check: check, Outcome: preflight.OK, Found: "flags and variables are valid"}
}

// checkDescriptors checks whether --max-connections fits into the limit of open files.
func checkDescriptors(d serving.Descriptors, maxConnections int) preflight.Result {
	const check = "open files"
	found := fmt.Sprintf("the limit (nofile) is %d, and --max-connections is %d", d, maxConnections)
	if limit := d.ForCallers(maxConnections); limit < maxConnections {
		return preflight.Result{
			Check: check, Outcome: preflight.Warning, Found: found,
			Consequence: fmt.Sprintf("At most %d connections of callers are open at a time; the rest is reserved for the API server, probes and metrics.", limit),
			Remedy: fmt.Sprintf("Raise the hard limit of the process to %d or more (ulimit -n, LimitNOFILE of systemd, or the container runtime), or lower --max-connections.",
				maxConnections+serving.MaxReservedDescriptors),
		}
	}
	return preflight.Result{Check: check, Outcome: preflight.OK, Found: found}
}

// checkCertificate checks the files of the service's own certificate.
func checkCertificate(s config.Settings, now time.Time) preflight.Result {
	const check = "certificate"
	if s.CertFile == "" {
		return preflight.Result{Check: check, Outcome: preflight.OK, Found: "none: " + s.Listen + " serves plain text"}
	}
	leaf, err := serving.ReadCertificate(s.CertFile, s.KeyFile)
	if err != nil {
		return failed(check, err.Error(), "The service does not start.",
			"Give it a readable PEM certificate and the private key that belongs to it.")
	}
	found := fmt.Sprintf("%s for %s", s.CertFile, strings.Join(namesOf(leaf), ", "))
	switch validity := serving.ValidityOf(leaf, now); {
	case len(namesOf(leaf)) == 0:
		return failed(check, s.CertFile+" is for no DNS name and no IP address", "All clients reject it.",
			"Issue it with subject alternative names; clients ignore the common name.")
	case validity == serving.Expired:
		return failed(check, fmt.Sprintf("%s has expired at %s", found, leaf.NotAfter.Format(time.RFC3339)),
			"All clients reject it.", "Renew it. A running service uses the new files within five seconds.")
	case validity == serving.NotYetValid:
		return failed(check, fmt.Sprintf("%s is valid only from %s", found, leaf.NotBefore.Format(time.RFC3339)),
			"All clients reject it.", "Correct the clock of this machine, or issue the certificate again.")
	case validity == serving.Expiring:
		return preflight.Result{
			Check: check, Outcome: preflight.Warning, Found: found + ", expires in " + preflight.Left(leaf.NotAfter.Sub(now)),
			Consequence: "Nine tenths of its lifetime have passed: its renewal is late.",
			Remedy:      "Renew it. A running service uses the new files within five seconds.",
		}
	}
	return preflight.Result{Check: check, Outcome: preflight.OK, Found: found + ", expires in " + preflight.Left(leaf.NotAfter.Sub(now))}
}

// namesOf returns the DNS names and addresses that clients accept a certificate for.
func namesOf(leaf *x509.Certificate) []string {
	names := leaf.DNSNames
	for _, address := range leaf.IPAddresses {
		names = append(names, address.String())
	}
	return names
}

func printJSON(out io.Writer, results []preflight.Result) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(map[string]any{"ok": count(results, preflight.Failed) == 0, "checks": results})
}

func count(results []preflight.Result, outcome preflight.Outcome) (n int) {
	for _, result := range results {
		if result.Outcome == outcome {
			n++
		}
	}
	return n
}

// describeResults returns results as text: one line for each, what follows from it below, and at the end
// the commands that grant what is missing.
func describeResults(results []preflight.Result) string {
	width := 0
	for _, result := range results {
		width = max(width, len(result.Check))
	}
	var text strings.Builder
	for _, result := range results {
		fmt.Fprintf(&text, "%-7s  %-*s  %s\n", result.Outcome, width, result.Check, result.Found)
		for _, line := range []struct{ label, text string }{{"", result.Consequence}, {"Fix: ", result.Remedy}} {
			if line.text != "" {
				fmt.Fprintf(&text, "%*s%s%s\n", 7+2+width+2, "", line.label, line.text)
			}
		}
	}
	var totals []string
	for _, outcome := range []preflight.Outcome{preflight.OK, preflight.Warning, preflight.Failed, preflight.Skipped} {
		if n := count(results, outcome); n > 0 {
			totals = append(totals, fmt.Sprintf("%d %s", n, outcome))
		}
	}
	text.WriteString("\n" + strings.Join(totals, ", ") + "\n")
	return text.String() + describeGrants(results)
}

// describeGrants returns one command for all failed checks, and one for the warnings.
func describeGrants(results []preflight.Result) string {
	var text strings.Builder
	for _, group := range []struct {
		heading  string
		outcome  preflight.Outcome
		powerful bool
	}{
		{"As an administrator, grant what the failed checks need:", preflight.Failed, false},
		{"As an administrator, grant what the warnings name, unless it is missing on purpose:", preflight.Warning, false},
		{"Impersonation makes the service's account as powerful as an administrator. Grant it only if " +
			"callers are to write through the service (docs/security.md):", preflight.Warning, true},
	} {
		var missing []*preflight.Permissions
		for _, result := range results {
			if result.Missing != nil && result.Outcome == group.outcome && result.Missing.Powerful == group.powerful {
				missing = append(missing, result.Missing)
			}
		}
		if len(missing) > 0 {
			text.WriteString("\n" + group.heading + "\n\n" + preflight.Grant(preflight.User(results), missing...))
		}
	}
	return text.String()
}
