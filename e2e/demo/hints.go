package main

import (
	"os"
	"strings"
	"text/template"
)

// hints lists pages of the console to look at, and commands to try. Every command works from the
// root of the checkout.
var hints = template.Must(template.New("hints").Parse(`
kubeconnect is at {{.Address}}

  the console     {{.Address}}/
{{- if .Filled}}
  it crashes      {{.Address}}/o/deployments.apps/billing/ledger
  out of memory   {{.Address}}/o/deployments.apps/billing/statements
  no image        {{.Address}}/o/deployments.apps/billing/invoices-pdf
  no node fits    {{.Address}}/o/deployments.apps/data/training
  a rollout       {{.Address}}/o/deployments.apps/shop/checkout (one every minute)
  logs of pods    {{.Address}}/logs?of=deployments.apps/shop/web&ns=shop
  conditions      {{.Address}}/r/backups.storage.example.com
  jobs            {{.Address}}/r/cronjobs.batch
  claims          {{.Address}}/r/persistentvolumeclaims?ns=data
  nodes           {{.Address}}/r/nodes (memory pressure, cordoned)
{{- end}}

  grpcurl         grpcurl -plaintext {{.Host}} list
                  grpcurl -plaintext -d '{"resource":"po","namespace":"shop"}' \
                    {{.Host}} kubeconnect.v1.ResourceService/List

  curl            curl -s {{.Address}}/kubeconnect.v1.ResourceService/List \
                    -H 'content-type: application/json' -d '{"resource":"deployments.apps"}'

  command line    .venv/bin/kubeconnect --address {{.Address}} watch pods -n shop

  Python          .venv/bin/python clients/python/examples/live_pods.py {{.Address}} shop

  TypeScript      node clients/ts/examples/live-pods.mjs {{.Address}} shop

  a terminal      bin/devcluster kubectl --kubeconfig {{.Kubeconfig}} -n shop exec -it deployment/web -- sh
                  bin/devcluster kubectl --kubeconfig {{.Kubeconfig}} -n shop port-forward deployment/web 8000:8080
                  (the commands, their files and the page are simulated)

  see it move     bin/devcluster kubectl --kubeconfig {{.Kubeconfig}} -n shop scale deployment web --replicas=6

No grpcurl here? go tool -modfile=tools/go.mod grpcurl … is the same.
Ctrl-C ends it all.
`))

// printHints prints the hints. isFilled says that the cluster has the sample objects.
func printHints(address, kubeconfig string, isFilled bool) {
	_, host, _ := strings.Cut(address, "://")
	_ = hints.Execute(os.Stdout, map[string]any{
		"Address":    address,
		"Host":       host,
		"Kubeconfig": kubeconfig,
		"Filled":     isFilled,
	})
}
