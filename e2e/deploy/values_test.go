package deploy_test

import (
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
)

func TestChart_PassesHelmLint(t *testing.T) {
	t.Parallel()
	for _, message := range lint.All(chartDir, required(), "kubeconnect", true).Messages {
		if message.Severity > support.InfoSev {
			t.Error(message)
		}
	}
}

func TestChart_QuotesAmbiguousNamespaces(t *testing.T) {
	t.Parallel()
	for _, namespace := range []string{"n", "on", "1"} {
		all := monitored(nil)
		all["callerRoles"] = values{"namespaces": []any{namespace}}
		for _, one := range (release{"r", namespace, all}).manifests(t) {
			if value, ok := one.Object["metadata"].(map[string]any)["namespace"]; ok && value != namespace && value != "kube-system" {
				t.Errorf("%s %s is in namespace %v", one.GetKind(), one.GetName(), value)
			}
		}
	}
}

func TestValues_InvalidOnesAreNamed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		values values
		says   string
	}{
		"no image":                                      {values{"image": values{"repository": ""}}, "image.repository"},
		"no Secret for TLS":                             {values{"tls": values{"secretName": ""}}, "tls.secretName"},
		"no issuer for cert-manager":                    {values{"tls": values{"mode": "certManager"}}, "tls.certManager.issuerRef.name"},
		"all verbs as callers":                          {values{"writes": values{"mode": "impersonate", "allowed": []any{values{"apiGroups": []any{""}, "resources": []any{"pods"}, "verbs": []any{"*"}}}}}, "writes.allowed.0.verbs.0"},
		"metrics over TLS without a certificate":        {values{"tls": values{"mode": "off"}, "metrics": values{"tls": true}}, "metrics.tls needs a certificate"},
		"tokens for metrics in plain text":              {values{"metrics": values{"auth": "cluster"}}, "metrics.auth cluster would receive tokens in plain text"},
		"an unknown mode of writes":                     {values{"writes": values{"mode": "root"}}, "writes.mode"},
		"an extra key in capitals":                      {values{"writes": values{"extras": []any{"Scopes"}}}, "writes.extras.0"},
		"nothing to serve":                              {values{"serve": []any{}}, "serve"},
		"resources without a group":                     {values{"serve": []any{values{"resources": []any{"pods"}}}}, "missing property 'group'"},
		"every origin":                                  {values{"corsOrigins": []any{"*"}}, "corsOrigins.0"},
		"an OpenID issuer in plain text":                {values{"oidc": values{"issuerURL": "http://issuer.example", "clientID": "c"}}, "oidc.issuerURL"},
		"an OpenID issuer without a client":             {values{"oidc": values{"issuerURL": "https://issuer.example"}}, "oidc.clientID"},
		"scopes without openid":                         {values{"oidc": values{"scopes": []any{"email"}}}, "oidc.scopes"},
		"a scope with a comma":                          {values{"oidc": values{"scopes": []any{"openid", "a,b"}}}, "oidc.scopes.1"},
		"a token endpoint with a path":                  {values{"oidc": values{"endpointOrigins": []any{"https://tokens.example/a"}}}, "oidc.endpointOrigins.0"},
		"alerts that do not exist":                      {values{"metrics": values{"prometheusRule": values{"enabled": true, "alerts": values{"KubeconnectMood": values{"for": "1m"}}}}}, "there is no alert KubeconnectMood"},
		"a threshold of an alert without one":           {values{"metrics": values{"prometheusRule": values{"enabled": true, "alerts": values{"KubeconnectDown": values{"threshold": 1}}}}}, "KubeconnectDown.threshold"},
		"an interval above that of the flag":            {values{"auth": values{"tokenReviewInterval": "10m"}}, "auth.tokenReviewInterval"},
		"a family that does not exist":                  {values{"service": values{"ipFamilies": []any{"IPv5"}}}, "service.ipFamilies.0"},
		"an audience without a name":                    {values{"auth": values{"audiences": []any{""}}}, "auth.audiences.0"},
		"an invalid re-check interval":                  {values{"auth": values{"recheckInterval": "often"}}, "auth.recheckInterval"},
		"an invalid token review interval":              {values{"auth": values{"tokenReviewInterval": "never"}}, "auth.tokenReviewInterval"},
		"an empty permission review interval":           {values{"auth": values{"permissionReviewInterval": ""}}, "auth.permissionReviewInterval"},
		"extra that is always significant":              {values{"auth": values{"authorizerExtra": []any{"scopes.example.com"}}}, "auth.authorizerExtra.0"},
		"a negative number of streams of a credential":  {values{"limits": values{"credentialStreams": -1}}, "limits.credentialStreams"},
		"a negative number of calls":                    {values{"limits": values{"calls": -1}}, "limits.calls"},
		"no connections":                                {values{"connections": values{"max": 0}}, "connections.max"},
		"a negative number of streams":                  {values{"limits": values{"streams": -1}}, "limits.streams"},
		"a service account without a name":              {values{"serviceAccount": values{"create": false}}, "serviceAccount.name"},
		"a monitor without metrics":                     {values{"metrics": values{"enabled": false, "serviceMonitor": values{"enabled": true}}}, "metrics.enabled"},
		"alerts without metrics":                        {values{"metrics": values{"enabled": false, "prometheusRule": values{"enabled": true}}}, "metrics.enabled"},
		"a dashboard without metrics":                   {values{"metrics": values{"enabled": false, "dashboard": values{"enabled": true}}}, "metrics.enabled"},
		"administrators without metrics":                {values{"metrics": values{"enabled": false, "adminTokenSecret": "admins"}}, "metrics.enabled"},
		"a dashboard in an invalid namespace":           {values{"metrics": values{"dashboard": values{"namespace": "A_b"}}}, "metrics.dashboard.namespace"},
		"metrics at the callers' port":                  {values{"metrics": values{"port": 8443}}, "metrics.port"},
		"metrics at a privileged port":                  {values{"metrics": values{"port": 90}}, "metrics.port"},
		"an empty interval of a monitor":                {values{"metrics": values{"serviceMonitor": values{"interval": ""}}}, "metrics.serviceMonitor.interval"},
		"an API server address without a prefix length": {values{"networkPolicy": values{"apiServer": values{"cidrs": []any{"10.96.0.1"}}}}, "networkPolicy.apiServer.cidrs.0"},
		"an API server without ports":                   {values{"networkPolicy": values{"apiServer": values{"ports": []any{}}}}, "networkPolicy.apiServer.ports"},
		"an unknown value":                              {values{"replicaCounts": 3}, "replicaCounts"},
		"an unknown nested value":                       {values{"tls": values{"secret": "x"}}, "secret"},
		"an invalid digest":                             {values{"image": values{"digest": "latest"}}, "image.digest"},
		"an unknown compression":                        {values{"compress": "zstd"}, "compress"},
		"no time between unready and the end":           {values{"termination": values{"preStopSeconds": 0}}, "termination.preStopSeconds"},
		"a probe without a timeout":                     {values{"probes": values{"liveness": values{"timeoutSeconds": 0}}}, "probes.liveness.timeoutSeconds"},
		"a volume without a name":                       {values{"extraVolumes": []any{values{"emptyDir": values{}}}}, "extraVolumes.0"},
		"a flow schema after all others":                {values{"flowSchema": values{"matchingPrecedence": 9500}}, "flowSchema.matchingPrecedence"},
		"a pod label that selects the pods":             {values{"podLabels": values{"app.kubernetes.io/instance": "x"}}, "podLabels"},
		"a limit that is not a quantity":                {values{"resources": values{"limits": values{"memory": "much"}}}, "resources.limits.memory"},
		"an unknown field of the resources":             {values{"resources": values{"memory": "1Gi"}}, "memory"},
		"a pull secret without a name":                  {values{"imagePullSecrets": []any{"pull"}}, "imagePullSecrets.0"},
		"a name in capitals":                            {values{"nameOverride": "State"}, "nameOverride"},
		"a full name in capitals":                       {values{"fullnameOverride": "State"}, "fullnameOverride"},
		"a source range without a prefix length":        {values{"service": values{"loadBalancerSourceRanges": []any{"192.0.2.1"}}}, "service.loadBalancerSourceRanges.0"},
		"an unknown log level":                          {values{"logLevel": "loud"}, "logLevel"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := release{"r", "n", with(test.values)}.files()
			if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "/", "."), test.says) {
				t.Errorf("error %v, want %q in it", err, test.says)
			}
		})
	}
}

func TestNotes_ShowAddressAndWarnings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		values         values
		says, excludes string
	}{
		"by default":    {nil, "https://r-kubeconnect.n.svc:443", "WARNING"},
		"in plain text": {values{"tls": values{"mode": "off"}}, "WARNING: plain text", "https://"},
		"with metrics":  {values{"metrics": values{"enabled": true}}, "http://r-kubeconnect-metrics.n.svc:9090/metrics, without authentication.\nEveryone in the cluster can", "WARNING"},
		"with metrics for some": {
			values{"metrics": values{"enabled": true, "from": []any{values{"podSelector": values{}}}}, "networkPolicy": values{"enabled": true}},
			"9090/metrics", "Everyone in the cluster can",
		},
		"with a policy for every address": {nil, "Restrict that to the API server", "No NetworkPolicy"},
		"with a policy for the API server": {
			values{"networkPolicy": values{"apiServer": values{"cidrs": []any{"10.96.0.1/32"}}}}, "https://", "endpointslices",
		},
		"without a policy": {values{"networkPolicy": values{"enabled": false}}, "No NetworkPolicy", "endpointslices"},
		"with metrics for readers": {
			values{"metrics": values{"tls": true, "auth": "cluster"}}, "https://r-kubeconnect-metrics.n.svc:9090/metrics. It needs a permission:\n\n  kubectl create clusterrolebinding n-r-kubeconnect-metrics-reader", "Everyone in the cluster can",
		},
		"by impersonation":             {values{"writes": values{"mode": "impersonate"}}, "administrators included", "WARNING"},
		"by constrained impersonation": {values{"writes": constrainedWrites}, "what writes.allowed lists", "administrators included"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, err := release{"r", "n", with(test.values)}.files()
			succeeds(t, err)
			text := files[filepath.Join("kubeconnect", "templates", notes)]
			if !strings.Contains(text, test.says) || strings.Contains(text, test.excludes) {
				t.Errorf("notes:\n%s\nwant %q in them, and not %q", text, test.says, test.excludes)
			}
		})
	}
}
