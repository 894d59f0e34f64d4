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
{{- if hasKey .Values.image "pullSecrets" -}}
{{- fail "image.pullSecrets is not a value of this chart: use imagePullSecrets" -}}
{{- end -}}
{{- end -}}
