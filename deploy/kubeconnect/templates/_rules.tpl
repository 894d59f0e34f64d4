{{- /* Rules for all served resources, with the given verbs. */ -}}
{{- define "kubeconnect.servedRules" -}}
{{- $verbs := .verbs }}
{{- range .resources }}
- apiGroups: [{{ .group | quote }}]
  resources: {{ toJson .resources }}
  verbs: {{ toJson $verbs }}
{{- end }}
{{- end -}}
