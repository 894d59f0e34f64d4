{{- /* Reading all that is served: what the service itself needs, and what callers may be given. */ -}}
{{- define "kubeconnect.readRules" -}}
{{- range .Values.resources }}
- apiGroups: [{{ .group | quote }}]
  resources: {{ toJson .resources }}
  verbs: [get, list, watch]
{{- end }}
{{- end -}}
