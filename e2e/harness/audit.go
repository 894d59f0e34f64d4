package harness

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// auditPolicy records only the patches of ConfigMaps of one name and the reads of ConfigMaps of
// another name, so that no other test has to wait for the audit log.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: RequestResponse
  verbs: [patch]
  resources:
  - resources: [configmaps]
    resourceNames: [` + Audited + `]
- level: Metadata
  verbs: [get]
  resources:
  - resources: [configmaps]
    resourceNames: [` + AuditedReads + `]
- level: None
`

// Audited is the name of the ConfigMaps whose patches every cluster records in its audit log.
const Audited = "audited"

// AuditedReads is the name of the ConfigMaps whose reads every cluster records in its audit log.
const AuditedReads = "audited-reads"

// AuditEvent is the part of an audit.k8s.io/v1 Event that the tests read.
type AuditEvent struct {
	AuditID          string                     `json:"auditID"`
	User             authenticationv1.UserInfo  `json:"user"`
	ImpersonatedUser *authenticationv1.UserInfo `json:"impersonatedUser"`
	ObjectRef        struct {
		Namespace string `json:"namespace"`
	} `json:"objectRef"`
	ResponseStatus metav1.Status `json:"responseStatus"`
	// ResponseObject is the written object, or a Status.
	ResponseObject metav1.PartialObjectMetadata `json:"responseObject"`
}

// auditFlags returns devcluster's flags for the audit log, and writes the files that they name.
func auditFlags(dir string) ([]string, error) {
	policy := filepath.Join(dir, "audit-policy.yaml")
	flags := []string{"--apiserver-arg", "audit-policy-file=" + policy, "--apiserver-arg", "audit-log-path=" + auditLog(dir)}
	return flags, os.WriteFile(policy, []byte(auditPolicy), 0o600)
}

func auditLog(dir string) string { return filepath.Join(dir, "audit.log") }

// AuditEvents returns the events of a namespace that are recorded so far, in order. The API server
// records a request after it has responded, so the last events may be missing.
func (c *Cluster) AuditEvents(namespace string) (events []AuditEvent, err error) {
	log, err := os.ReadFile(auditLog(c.dir))
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(log) {
		var event AuditEvent
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // the API server is still writing this line
		}
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, err
		}
		if event.ObjectRef.Namespace == namespace {
			events = append(events, event)
		}
	}
	return events, nil
}
