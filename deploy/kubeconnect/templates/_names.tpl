{{- /* Names. */ -}}

{{- define "kubeconnect.name" -}}
{{- default (printf "%s-kubeconnect" .Release.Name | trimPrefix "kubeconnect-") .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "kubeconnect.serviceAccount" -}}
{{- default (include "kubeconnect.name" .) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "kubeconnect.image" -}}
{{- $tag := default (ternary "" .Chart.AppVersion (ne .Values.image.digest "")) .Values.image.tag -}}
{{- .Values.image.repository }}{{ with $tag }}:{{ . }}{{ end }}{{ with .Values.image.digest }}@{{ . }}{{ end }}
{{- end -}}

{{- /* The container port for callers. */ -}}
{{- define "kubeconnect.port" -}}
{{- ternary 8443 8080 (ne .Values.tls.mode "off") -}}
{{- end -}}

{{- /* Not empty if replicas query each other's load, at the metrics Service. */ -}}
{{- define "kubeconnect.peers" -}}
{{- if and .Values.balance.peers .Values.metrics.enabled }}true{{ end -}}
{{- end -}}

{{- define "kubeconnect.tlsSecret" -}}
{{- default (printf "%s-tls" (include "kubeconnect.name" .)) .Values.tls.secretName -}}
{{- end -}}

{{- /* Names of cluster-scoped objects, which must differ for releases of the same name in different namespaces. */ -}}
{{- define "kubeconnect.clusterName" -}}
{{- printf "%s-%s" .Release.Namespace (include "kubeconnect.name" .) -}}
{{- end -}}

{{- define "kubeconnect.selector" -}}
app.kubernetes.io/name: kubeconnect
app.kubernetes.io/instance: {{ include "kubeconnect.name" . | quote }}
{{- end -}}

{{- define "kubeconnect.labels" -}}
{{ include "kubeconnect.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "kubeconnect.meta" -}}
name: {{ include "kubeconnect.name" . | quote }}
namespace: {{ .Release.Namespace | quote }}
labels:
  {{- include "kubeconnect.labels" . | nindent 2 }}
{{- end -}}

{{- define "kubeconnect.metricsMeta" -}}
name: {{ include "kubeconnect.name" . }}-metrics
namespace: {{ .Release.Namespace | quote }}
labels:
  {{- include "kubeconnect.labels" . | nindent 2 }}
  app.kubernetes.io/component: metrics
{{- end -}}

{{- define "kubeconnect.subject" -}}
kind: ServiceAccount
name: {{ include "kubeconnect.serviceAccount" . | quote }}
namespace: {{ .Release.Namespace | quote }}
{{- end -}}
