{{/* The name of the chart. */}}
{{- define "kubeconnect.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{/*
The name of the namespaced objects: RELEASE-kubeconnect, or RELEASE if that contains the name of the
chart. At most 52 characters, so that suffixes such as -headless fit in a DNS label.
*/}}
{{- define "kubeconnect.fullname" -}}
{{- $name := include "kubeconnect.name" . -}}
{{- $release := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- default $release .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{/* The name of the cluster-scoped objects, which differs for releases of the same name in different namespaces. */}}
{{- define "kubeconnect.clusterFullname" -}}
{{- printf "%s-%s" .Release.Namespace (include "kubeconnect.fullname" .) -}}
{{- end -}}

{{/* The name and version of the chart, as a label. */}}
{{- define "kubeconnect.chart" -}}
{{- printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The labels of all objects. */}}
{{- define "kubeconnect.labels" -}}
helm.sh/chart: {{ include "kubeconnect.chart" . }}
{{ include "kubeconnect.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* The labels that select the pods. They never contain a version, because selectors cannot be changed. */}}
{{- define "kubeconnect.selectorLabels" -}}
app.kubernetes.io/name: {{ include "kubeconnect.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{/* The labels of the Service for metrics, which the ServiceMonitor selects. */}}
{{- define "kubeconnect.metricsLabels" -}}
{{ include "kubeconnect.labels" . }}
app.kubernetes.io/component: metrics
{{- end -}}

{{- define "kubeconnect.serviceAccountName" -}}
{{- default (include "kubeconnect.fullname" .) .Values.serviceAccount.name -}}
{{- end -}}

{{/* The service account, as a subject of a role binding. */}}
{{- define "kubeconnect.subject" -}}
kind: ServiceAccount
name: {{ include "kubeconnect.serviceAccountName" . | quote }}
namespace: {{ .Release.Namespace | quote }}
{{- end -}}

{{- define "kubeconnect.image" -}}
{{- $tag := default (ternary "" .Chart.AppVersion (ne .Values.image.digest "")) .Values.image.tag -}}
{{- .Values.image.repository }}{{ with $tag }}:{{ . }}{{ end }}{{ with .Values.image.digest }}@{{ . }}{{ end }}
{{- end -}}

{{/* The container port for callers. */}}
{{- define "kubeconnect.port" -}}
{{- ternary 8443 8080 (ne .Values.tls.mode "off") -}}
{{- end -}}

{{/* The port of the Service for callers. */}}
{{- define "kubeconnect.servicePort" -}}
{{- default (ternary 443 80 (ne .Values.tls.mode "off")) .Values.service.port | int -}}
{{- end -}}

{{/* Not empty if replicas query each other's load, at the Service for metrics. */}}
{{- define "kubeconnect.peers" -}}
{{- if and .Values.balance.peers .Values.metrics.enabled }}true{{ end -}}
{{- end -}}

{{/*
Not empty if an object of the Prometheus operator is created: its value "enabled" is true, or it is auto and
the cluster has the operator's API.
*/}}
{{- define "kubeconnect.monitors" -}}
{{- $auto := and (eq (toString .enabled) "auto") .root.Values.metrics.enabled (.root.Capabilities.APIVersions.Has "monitoring.coreos.com/v1") -}}
{{- if or (eq (toString .enabled) "true") $auto }}true{{ end -}}
{{- end -}}

{{/* The address families of all Services. */}}
{{- define "kubeconnect.ipFamilies" -}}
{{- with .Values.service.ipFamilyPolicy }}
ipFamilyPolicy: {{ . }}
{{- end }}
{{- with .Values.service.ipFamilies }}
ipFamilies: {{ toJson . }}
{{- end }}
{{- end -}}

{{- define "kubeconnect.tlsSecretName" -}}
{{- default (printf "%s-tls" (include "kubeconnect.fullname" .)) .Values.tls.secretName -}}
{{- end -}}

{{/* Not empty if callers are impersonated by constrained impersonation. */}}
{{- define "kubeconnect.constrained" -}}
{{- $auto := and (eq .Values.writes.impersonation "auto") (semverCompare ">=1.36.0-0" .Capabilities.KubeVersion.Version) -}}
{{- if and (eq .Values.writes.mode "impersonate") (or (eq .Values.writes.impersonation "constrained") $auto) }}true{{ end -}}
{{- end -}}

{{/* The value of --write-as. */}}
{{- define "kubeconnect.writeAs" -}}
{{- $impersonate := ternary "impersonate-constrained" "impersonate" (ne (include "kubeconnect.constrained" .) "") -}}
{{- ternary "token" $impersonate (eq .Values.writes.mode "token") -}}
{{- end -}}

{{/* The verbs that are needed to make requests with the given verbs as a user, or as a service account. */}}
{{- define "kubeconnect.impersonateOn" -}}
{{- $verbs := list -}}
{{- range . -}}
{{- $verbs = concat $verbs (list (printf "impersonate-on:user-info:%s" .) (printf "impersonate-on:serviceaccount:%s" .)) -}}
{{- end -}}
{{- toJson $verbs -}}
{{- end -}}

{{/* The keys of the extra that are sent of a user. With constrained impersonation, a service account is sent by its name alone. */}}
{{- define "kubeconnect.extras" -}}
{{- $extras := .Values.writes.extras -}}
{{- if include "kubeconnect.constrained" . -}}
{{- range list "node-name" "node-uid" "pod-name" "pod-uid" -}}
{{- $extras = without $extras (printf "authentication.kubernetes.io/%s" .) -}}
{{- end -}}
{{- end -}}
{{- toJson $extras -}}
{{- end -}}

{{/*
The rules of constrained impersonation for requests: reads that are made as the caller, and what is allowed. A
resource "*" has no rule for reads: it would include subresources, such as pods/exec.
*/}}
{{- define "kubeconnect.impersonateOnRules" -}}
{{- range $rule := .Values.serve }}
{{- with without $rule.resources "*" }}
- apiGroups: [{{ $rule.group | quote }}]
  resources: {{ toJson . }}
  verbs: {{ include "kubeconnect.impersonateOn" (list "get" "list") }}
{{- end }}
{{- end }}
{{- range .Values.uncached }}
{{- $resource := regexFind "^[^.]*" . }}
- apiGroups: [{{ trimPrefix $resource . | trimPrefix "." | default "*" | quote }}]
  resources: [{{ $resource | quote }}]
  verbs: {{ include "kubeconnect.impersonateOn" (list "get" "list" "watch") }}
{{- end }}
- apiGroups: [""]
  resources: [pods/log]
  verbs: {{ include "kubeconnect.impersonateOn" (list "get") }}
{{- range default list (get .Values.writes "allowed") }}
- apiGroups: {{ toJson .apiGroups }}
  resources: {{ toJson .resources }}
  verbs: {{ include "kubeconnect.impersonateOn" .verbs }}
{{- end }}
{{- end -}}

{{/* Rules for all served resources, with the given verbs. */}}
{{- define "kubeconnect.serveRules" -}}
{{- $verbs := .verbs }}
{{- range .serve }}
- apiGroups: [{{ .group | quote }}]
  resources: {{ toJson .resources }}
  verbs: {{ toJson $verbs }}
{{- end }}
{{- end -}}

{{/*
Fails for names and shapes of values that this chart does not have, but that look as if it had. The
schema allows them, so that the message can say what to use instead.
*/}}
{{- define "kubeconnect.validateValues" -}}
{{- if kindIs "slice" .Values.resources -}}
{{- fail "resources must be the requests and limits of the container; the list of the resources to serve is the value serve" -}}
{{- end -}}
{{- if hasKey .Values "containerResources" -}}
{{- fail "containerResources is not a value of this chart: use resources" -}}
{{- end -}}
{{- if hasKey .Values "replicas" -}}
{{- fail "replicas is not a value of this chart: use replicaCount" -}}
{{- end -}}
{{- if and .Values.metrics.tls (eq .Values.tls.mode "off") -}}
{{- fail "metrics.tls needs a certificate: set tls.mode to secret or certManager" -}}
{{- end -}}
{{- if and (eq .Values.metrics.auth "cluster") (not .Values.metrics.tls) (ne .Values.tls.mode "off") -}}
{{- fail "metrics.auth cluster would receive tokens in plain text: set metrics.tls" -}}
{{- end -}}
{{- if and (include "kubeconnect.constrained" .) (not (kindIs "slice" (get .Values.writes "allowed"))) -}}
{{- fail "writes.allowed is required with constrained impersonation: list what callers may change through the service, [] for nothing; or set writes.impersonation to legacy, which makes the service account effectively cluster-admin" -}}
{{- end -}}
{{- if hasKey .Values.image "pullSecrets" -}}
{{- fail "image.pullSecrets is not a value of this chart: use imagePullSecrets" -}}
{{- end -}}
{{- end -}}
