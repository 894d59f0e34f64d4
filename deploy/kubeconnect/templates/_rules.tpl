{{- /* Rules about all that is served, with some verbs. */ -}}
{{- define "kubeconnect.servedRules" -}}
{{- $verbs := .verbs }}
{{- range .resources }}
- apiGroups: [{{ .group | quote }}]
  resources: {{ toJson .resources }}
  verbs: {{ toJson $verbs }}
{{- end }}
{{- end -}}
