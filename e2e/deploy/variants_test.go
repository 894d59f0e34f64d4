package deploy_test

// variants are values that differ in what is rendered.
var variants = map[string]values{
	"by default":                          {},
	"by another name":                     {"fullnameOverride": "state"},
	"by names that YAML takes for others": {"fullnameOverride": "on", "serviceAccount": values{"name": "no"}, "tls": values{"secretName": "1e3"}},
	"with cert-manager":                   {"tls": values{"mode": "certManager", "certManager": values{"issuerRef": values{"name": "ca", "kind": "ClusterIssuer"}, "dnsNames": []any{"state.example.com"}}}},
	"in plain text":                       {"tls": values{"mode": "off"}},
	"with writes":                         {"writes": values{"mode": "impersonate"}},
	"with all extras":                     {"writes": values{"mode": "impersonate", "extras": []any{"*"}}},
	"without writes":                      {"writes": values{"mode": "off"}},
	"with everything":                     {"resources": []any{values{"group": "*", "resources": []any{"*"}}}},
	"without a limit":                     {"containerResources": values{"limits": nil}},
	"with one replica":                    {"replicas": 1, "podDisruptionBudget": values{"enabled": false}},
	"with many streams":                   {"limits": values{"streams": 5_000_000, "requestRate": 0}},
	"with an own account":                 {"serviceAccount": values{"create": false, "name": "default"}},
	"without spreading":                   {"topologySpreadConstraints": []any{}},
	"with roles":                          {"callerRoles": values{"reader": true, "namespaces": []any{"default", "kube-public"}}},
	"without a policy":                    {"networkPolicy": values{"enabled": false}},
	"with a strict policy": {"networkPolicy": values{
		"from":      []any{values{"namespaceSelector": values{}}},
		"apiServer": values{"cidrs": []any{"10.96.0.1/32", "fd00::1/128"}, "ports": []any{443}},
		"dns":       values{"to": []any{values{"namespaceSelector": values{"matchLabels": values{"kubernetes.io/metadata.name": "openshift-dns"}}}}, "ports": []any{5353}},
	}},
	"with metrics": {"metrics": values{"enabled": true}},
	"with metrics for some": {
		"networkPolicy": values{"enabled": true},
		"metrics":       values{"enabled": true, "port": 9191, "from": []any{values{"namespaceSelector": values{"matchLabels": values{"kubernetes.io/metadata.name": "monitoring"}}}}},
	},
	"with a monitor": {"metrics": values{"enabled": true, "serviceMonitor": values{"enabled": true, "interval": "1m30s", "labels": values{"release": "prometheus"}}}},
	"with all that pods take": {
		"podAnnotations": values{"a": "b"}, "podLabels": values{"c": "d"}, "nodeSelector": values{"kubernetes.io/os": "linux"},
		"tolerations": []any{values{"operator": "Exists"}}, "priorityClassName": "system-cluster-critical",
		"affinity":                  values{"nodeAffinity": values{"requiredDuringSchedulingIgnoredDuringExecution": values{"nodeSelectorTerms": []any{values{"matchExpressions": []any{values{"key": "x", "operator": "Exists"}}}}}}},
		"topologySpreadConstraints": []any{values{"topologyKey": "x", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": values{}}},
		"image":                     values{"tag": "v1", "pullPolicy": "Always", "pullSecrets": []any{values{"name": "pull"}}},
		"serviceAccount":            values{"annotations": values{"e": "f"}}, "corsOrigins": []any{"https://app.example.com"}, "extraArgs": []any{"--log-level=debug"},
		"service": values{"type": "LoadBalancer", "port": 8443, "appProtocol": "kubernetes.io/h2c", "annotations": values{"g": "h"}},
	},
}
