package deploy_test

import (
	"fmt"
	"slices"
	"testing"
)

// variants are values that change the rendered manifests.
var variants = map[string]values{
	"by default":                          {},
	"by another name":                     {"fullnameOverride": "state"},
	"by another name of the chart":        {"nameOverride": "state"},
	"by names that YAML takes for others": {"fullnameOverride": "on", "serviceAccount": values{"name": "no"}, "tls": values{"secretName": "1e3"}},
	"with cert-manager":                   {"tls": values{"mode": "certManager", "certManager": values{"issuerRef": values{"name": "ca", "kind": "ClusterIssuer"}, "dnsNames": []any{"state.example.com"}}}},
	"with an external issuer of certificates": {"tls": values{"mode": "certManager", "certManager": values{
		"issuerRef": values{"name": "ca", "kind": "VaultIssuer", "group": "issuers.example.com"}, "duration": "720h", "renewBefore": "240h",
	}}},
	"with an OpenID issuer": {"oidc": values{
		"issuerURL": "https://issuer.example.com/realm", "clientID": "console", "scopes": []any{"openid", "groups"}, "endpointOrigins": []any{"https://tokens.example.com"},
	}},
	"in plain text":     {"tls": values{"mode": "off"}},
	"with writes":       {"writes": values{"mode": "impersonate"}},
	"with all extras":   {"writes": values{"mode": "impersonate", "extras": []any{"*"}}},
	"with some writes":  {"writes": constrainedWrites, "uncached": []any{"secrets", "gadgets.deploy.example.com"}},
	"without writes":    {"writes": values{"mode": "off"}},
	"with everything":   {"serve": []any{values{"group": "*", "resources": []any{"*"}}}},
	"without a limit":   {"resources": values{"limits": nil}},
	"with one replica":  {"replicaCount": 1, "podDisruptionBudget": values{"enabled": false}},
	"with many streams": {"limits": values{"streams": 5_000_000, "requestRate": 0}},
	"with other limits": {
		"limits":      values{"credentialStreams": 10, "requestBurst": 100, "calls": 5},
		"connections": values{"max": 100, "maxPerAddress": 50},
	},
	"with other reviews": {"auth": values{
		"audiences": []any{"kubeconnect"}, "recheckInterval": "30s", "tokenReviewInterval": "1m", "permissionReviewInterval": "5m", "permissionGrace": "30s",
		"authorizerExtra": []any{"authentication.kubernetes.io/node-name"},
	}},
	"with other caches": {
		"preload": false, "cacheIdleTimeout": "1h", "uncached": []any{"configmaps"}, "cacheAggregated": []any{"metrics.example.com"},
		"keepManagedFields": true, "tokenGeneration": "restored",
	},
	"with logs as JSON":     {"logLevel": "debug", "logFormat": "json", "logSample": 0.5},
	"with an audit log":     {"auditLog": "-", "auditPolicy": values{"rules": []any{values{"level": "Metadata", "verbs": []any{"get", "list", "watch"}}}}},
	"with patient probes":   {"probes": values{"startup": patientProbe, "liveness": patientProbe, "readiness": patientProbe}},
	"with many disruptions": {"replicaCount": 5, "podDisruptionBudget": values{"minAvailable": 3}},
	"with few disruptions":  {"replicaCount": 5, "podDisruptionBudget": values{"maxUnavailable": "20%"}},
	"with more memory":      {"resources": values{"requests": values{"cpu": 2, "memory": "6Gi"}, "limits": values{"memory": "8Gi"}}},
	"with another user":     {"podSecurityContext": values{"runAsUser": 1000, "runAsGroup": 1000}, "securityContext": values{"readOnlyRootFilesystem": false}},
	"on OpenShift":          {"podSecurityContext": values{"runAsUser": nil, "runAsGroup": nil}},
	"with an own account":   {"serviceAccount": values{"create": false, "name": "default"}},
	"without spreading":     {"topologySpreadConstraints": []any{}},
	"with strict spreading": {"spread": values{"nodes": "DoNotSchedule", "zones": ""}},
	"with fast rollouts":    {"minReadySeconds": 0, "strategy": values{"rollingUpdate": values{"maxSurge": "100%", "maxUnavailable": 1}}},
	"recreated":             {"strategy": values{"type": "Recreate", "rollingUpdate": nil}},
	"with two families":     {"service": values{"ipFamilyPolicy": "PreferDualStack", "ipFamilies": []any{"IPv4"}, "trafficDistribution": "PreferSameZone"}},
	"without metrics":       {"metrics": values{"enabled": false}},
	"with other alerts": {"metrics": values{"prometheusRule": values{
		"enabled": true, "runbookBaseURL": "https://runbooks.example/kubeconnect",
		"alerts": values{"KubeconnectMemoryLow": values{"threshold": 0.9, "for": "30m", "severity": "info"}, "KubeconnectRelists": values{"enabled": false}},
	}}},
	"with roles":       {"callerRoles": values{"reader": true, "namespaces": []any{"default", "kube-public"}}},
	"without a policy": {"networkPolicy": values{"enabled": false}},
	"with a strict policy": {"networkPolicy": values{
		"from":        []any{values{"namespaceSelector": values{}}},
		"apiServer":   values{"cidrs": []any{"10.96.0.1/32", "fd00::1/128"}, "ports": []any{443}},
		"dns":         values{"to": []any{values{"namespaceSelector": values{"matchLabels": values{"kubernetes.io/metadata.name": "openshift-dns"}}}}, "ports": []any{5353}},
		"extraEgress": []any{values{"ports": []any{values{"port": 4317}}}},
	}},
	"with extras":        withExtras(nil),
	"with a flow schema": {"flowSchema": values{"nominalConcurrencyShares": 50, "matchingPrecedence": 800}},
	"without one":        {"flowSchema": values{"enabled": false}},
	"with an autoscaler": {"replicaCount": nil},
	"with a slow drain":  {"termination": values{"preStopSeconds": 600}},
	"without headless":   {"service": values{"headless": false}},
	"without peers":      {"balance": values{"peers": false, "maxStreamAge": "0s"}, "metrics": values{"enabled": true}},
	"with compression":   {"compress": "gzip"},
	"with metrics":       {"metrics": values{"enabled": true}},
	"with metrics for some": {
		"networkPolicy": values{"enabled": true},
		"metrics":       values{"enabled": true, "port": 9191, "from": []any{values{"namespaceSelector": values{"matchLabels": values{"kubernetes.io/metadata.name": "monitoring"}}}}},
	},
	"with metrics for readers": {"metrics": values{"tls": true, "auth": "cluster", "serviceMonitor": values{
		"enabled": true, "tlsConfig": values{"serverName": "kubeconnect.example.com"}, "authorization": values{"credentials": values{"name": "prometheus", "key": "token"}},
	}}},
	"with metrics over TLS": {
		"tls":     values{"mode": "certManager", "certManager": values{"issuerRef": values{"name": "ca"}}},
		"metrics": values{"tls": true, "auth": "cluster", "serviceMonitor": values{"enabled": true}},
	},
	"with administrators": {"metrics": values{"enabled": true, "adminTokenSecret": "admins"}},
	"with a monitor":      {"metrics": values{"enabled": true, "serviceMonitor": values{"enabled": true, "interval": "1m30s", "labels": values{"release": "prometheus"}}}},
	"with alerts and a dashboard": {"metrics": values{
		"enabled": true, "serviceMonitor": values{"enabled": true}, "prometheusRule": values{"enabled": true, "labels": values{"release": "prometheus"}},
		"dashboard": values{"enabled": true, "namespace": "kube-public", "labels": values{"grafana_dashboard": "yes"}, "annotations": values{"grafana_folder": "Kubernetes"}},
	}},
	"with all that pods take": {
		"podAnnotations": values{"a": "b"}, "podLabels": values{"c": "d"}, "nodeSelector": values{"kubernetes.io/os": "linux"},
		"tolerations": []any{values{"operator": "Exists"}}, "priorityClassName": "system-cluster-critical",
		"affinity":                  values{"nodeAffinity": values{"requiredDuringSchedulingIgnoredDuringExecution": values{"nodeSelectorTerms": []any{values{"matchExpressions": []any{values{"key": "x", "operator": "Exists"}}}}}}},
		"topologySpreadConstraints": []any{values{"topologyKey": "x", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": values{}}},
		"image":                     values{"tag": "v1", "digest": "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "pullPolicy": "Always"}, "imagePullSecrets": []any{values{"name": "pull"}},
		"serviceAccount": values{"annotations": values{"e": "f"}}, "kubeApi": "read", "corsOrigins": []any{"https://app.example.com"}, "extraArgs": []any{"--log-level=debug"},
		"service":            values{"type": "LoadBalancer", "port": 8443, "appProtocol": "kubernetes.io/h2c", "externalTrafficPolicy": "Local", "annotations": values{"g": "h"}, "nodePort": 30443, "loadBalancerClass": "example.com/balancer", "loadBalancerSourceRanges": []any{"192.0.2.0/24"}},
		"podSecurityContext": values{"fsGroup": 65532}, "securityContext": values{"capabilities": values{"drop": []any{"ALL"}}},
		"resources": values{"requests": values{"ephemeral-storage": "1Mi"}, "limits": values{"cpu": 2}},
	},
}

var patientProbe = values{"timeoutSeconds": 20, "periodSeconds": 30, "failureThreshold": 10}

// unchangeable are the values that the restricted Pod Security Standard requires.
var unchangeable = []string{
	"podSecurityContext.runAsNonRoot", "podSecurityContext.seccompProfile", "podSecurityContext.seccompProfile.type",
	"securityContext.allowPrivilegeEscalation", "securityContext.capabilities", "securityContext.capabilities.drop",
}

// TestVariants_ChangeEveryValue checks that the manifests are rendered with another value for each
// value of the chart.
func TestVariants_ChangeEveryValue(t *testing.T) {
	t.Parallel()
	chart, err := loadChart()
	succeeds(t, err)
	changed := map[string]bool{}
	for _, variant := range variants {
		for _, path := range pathsOf("", with(variant), chart.Values) {
			changed[path] = true
		}
	}
	for _, path := range pathsOf("", chart.Values, nil) {
		if !changed[path] && !slices.Contains(unchangeable, path) {
			t.Errorf("no variant changes %s", path)
		}
	}
}

// pathsOf returns the paths of the values that differ from others.
func pathsOf(prefix string, all, others values) (paths []string) {
	for name, value := range all {
		path := prefix + name
		if nested, ok := value.(values); ok && len(nested) > 0 {
			other, _ := others[name].(values)
			paths = append(paths, pathsOf(path+".", nested, other)...)
		}
		if other, ok := others[name]; !ok || fmt.Sprint(value) != fmt.Sprint(other) {
			paths = append(paths, path)
		}
	}
	return paths
}
