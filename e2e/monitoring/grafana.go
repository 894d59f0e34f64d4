package monitoring

import (
	"bytes"
	"encoding/json"
	"strings"
)

// The sizes of panels, in the units of Grafana, whose dashboards are 24 units wide.
const (
	width                        = 24
	singleWidth, singleHeight    = 3, 4
	diagramWidth, diagramHeight  = 8, 8
	selectedReplicas             = `namespace=~"$namespace",job=~"$job",instance=~"$instance"`
	dashboardVersion, gridHeight = 39, 1
)

// object is a JSON object of Grafana's.
type object = map[string]any

// Dashboard returns the dashboard in Grafana's format.
func Dashboard() ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(object{
		"uid": "kubeconnect", "title": "kubeconnect", "tags": []string{"kubernetes"}, "schemaVersion": dashboardVersion,
		"editable": true, "graphTooltip": 1, "refresh": "30s", "time": object{"from": "now-3h", "to": "now"},
		"templating": object{"list": variables()}, "panels": panels(),
	})
	return text.Bytes(), err
}

func variables() []object {
	return []object{
		{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
		variable("namespace", "Namespace", `label_values(kubeconnect_build_info, namespace)`),
		variable("job", "Job", `label_values(kubeconnect_build_info{namespace=~"$namespace"}, job)`),
		variable("instance", "Replica", `label_values(kubeconnect_build_info{namespace=~"$namespace",job=~"$job"}, instance)`),
	}
}

// variable returns a variable with the values of a label. All replicas are selected at first.
func variable(name, label, query string) object {
	return object{
		"name": name, "label": label, "type": "query", "datasource": datasource(), "query": query, "refresh": 2,
		"includeAll": true, "multi": true, "allValue": ".*", "current": object{"text": "All", "value": "$__all"},
	}
}

func datasource() object { return object{"type": "prometheus", "uid": "${datasource}"} }

// panels returns the rows and their panels, each at its position.
func panels() (all []object) {
	at := 0
	for _, row := range Rows {
		all = append(all, object{"id": len(all) + 1, "type": "row", "title": row.Title, "collapsed": false, "panels": []object{}, "gridPos": grid(0, at, width, gridHeight)})
		at += gridHeight
		for i, panel := range row.Panels {
			wide, high := panel.size()
			perLine := width / wide
			all = append(all, panel.object(len(all)+1, grid(i%perLine*wide, at+i/perLine*high, wide, high)))
		}
		wide, high := row.Panels[0].size()
		perLine := width / wide
		at += (len(row.Panels) + perLine - 1) / perLine * high
	}
	return all
}

func grid(x, y, w, h int) object { return object{"x": x, "y": y, "w": w, "h": h} }

func (p Panel) size() (wide, high int) {
	if p.Single {
		return singleWidth, singleHeight
	}
	return diagramWidth, diagramHeight
}

func (p Panel) object(id int, position object) object {
	kind := "timeseries"
	if p.Single {
		kind = "stat"
	}
	var targets []object
	for i, query := range p.Queries {
		targets = append(targets, object{
			"refId": string(rune('A' + i)), "datasource": datasource(), "expr": query.Selecting(selectedReplicas), "legendFormat": query.Legend,
		})
	}
	return object{
		"id": id, "type": kind, "title": p.Title, "description": p.Description, "datasource": datasource(), "gridPos": position,
		"targets": targets, "fieldConfig": object{"defaults": object{"unit": p.Unit, "min": 0}, "overrides": []object{}}, "options": p.options(),
	}
}

func (p Panel) options() object {
	if !p.Single {
		return object{"legend": object{"displayMode": "list", "placement": "bottom"}, "tooltip": object{"mode": "multi", "sort": "desc"}}
	}
	text := "auto"
	if p.Queries[0].Legend != "" {
		text = "value_and_name"
	}
	return object{"textMode": text, "colorMode": "none", "graphMode": "area", "reduceOptions": object{"calcs": []string{"lastNotNull"}}}
}

// Selecting returns the expression for replicas that a list of matchers selects.
func (q Query) Selecting(matchers string) string {
	return strings.ReplaceAll(q.Expr, "[selected]", matchers)
}
