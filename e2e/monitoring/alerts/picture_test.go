package alerts_test

import (
	"context"
	"fmt"
	"html"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/monitoring"
)

// The sizes of the picture in pixels. A panel has its title above its diagram, and the names of its
// lines below.
const (
	pictureColumns          = 3
	panelWidth, panelHeight = 400, 230
	plotLeft, plotTop       = 55, 30
	plotWidth, plotHeight   = 330, 130
	rowHeight               = 30
	shownNames              = 6
	pictureSteps            = 120
)

var lineColors = []string{"#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf"}

// draw writes the diagrams of the dashboard as a picture, if UPDATE is 1. Grafana itself looks
// different: this shows what the expressions return.
func (p *prometheus) draw(ctx context.Context, t *testing.T) {
	t.Helper()
	if os.Getenv("UPDATE") != "1" {
		return
	}
	path, err := harness.Path("docs", "screenshots", "dashboard.svg")
	if err != nil {
		t.Fatal(err)
	}
	var picture strings.Builder
	at := 0
	for _, row := range monitoring.Rows[1:] {
		fmt.Fprintf(&picture, `<text x="10" y="%d" font-size="17" font-weight="bold">%s</text>`+"\n", at+21, row.Title)
		at += rowHeight
		for i, panel := range row.Panels {
			fmt.Fprintf(&picture, `<g transform="translate(%d %d)">`+"\n", i%pictureColumns*panelWidth, at+i/pictureColumns*panelHeight)
			p.drawPanel(ctx, t, &picture, panel)
			picture.WriteString("</g>\n")
		}
		at += (len(row.Panels) + pictureColumns - 1) / pictureColumns * panelHeight
	}
	text := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">`+"\n"+
		`<rect width="100%%" height="100%%" fill="white"/>`+"\n%s</svg>\n", pictureColumns*panelWidth, at, picture.String())
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (p *prometheus) drawPanel(ctx context.Context, t *testing.T, picture *strings.Builder, panel monitoring.Panel) {
	t.Helper()
	var lines []line
	highest := 0.0
	for _, query := range panel.Queries {
		for _, series := range p.queryRange(ctx, t, onDashboard(query, "5m")) {
			lines = append(lines, line{nameOf(query.Legend, series), series.Floats})
			for _, point := range series.Floats {
				if !math.IsNaN(point.F) {
					highest = max(highest, point.F)
				}
			}
		}
	}
	fmt.Fprintf(picture, `<text x="10" y="18" font-size="13">%s</text>`+"\n", html.EscapeString(panel.Title))
	fmt.Fprintf(picture, `<path d="M%d %dV%dH%d" fill="none" stroke="#999"/>`+"\n", plotLeft, plotTop, plotTop+plotHeight, plotLeft+plotWidth)
	fmt.Fprintf(picture, `<text x="%d" y="%d" text-anchor="end">%.3g</text>`+"\n", plotLeft-4, plotTop+9, highest)
	fmt.Fprintf(picture, `<text x="%d" y="%d" text-anchor="end" fill="#777">%s</text>`+"\n", plotLeft-4, plotTop+24, panel.Unit)
	for i, line := range lines {
		p.drawLine(picture, line, highest, i)
	}
}

// line is one line of a diagram.
type line struct {
	name   string
	points []promql.FPoint
}

func (p *prometheus) drawLine(picture *strings.Builder, drawn line, highest float64, number int) {
	color, lasts := lineColors[number%len(lineColors)], float64(p.clock.at(time.Now()).Sub(p.clock.began).Milliseconds())
	var path strings.Builder
	for _, point := range drawn.points {
		if math.IsNaN(point.F) {
			continue
		}
		x := float64(point.T-p.clock.began.UnixMilli()) / lasts
		y := 1 - point.F/max(highest, math.SmallestNonzeroFloat64)
		fmt.Fprintf(&path, "%.1f,%.1f ", plotLeft+x*plotWidth, plotTop+y*plotHeight)
	}
	fmt.Fprintf(picture, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"/>`+"\n", strings.TrimSpace(path.String()), color)
	if number < shownNames {
		x, y := 10+number%2*195, plotTop+plotHeight+18+number/2*15
		fmt.Fprintf(picture, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n", x, y, color, html.EscapeString(drawn.name))
	}
}

// absentLabel is a label in a legend that a series does not have.
var absentLabel = regexp.MustCompile(`{{\w+}}`)

// nameOf returns the name of a line, as Grafana replaces the labels in a legend.
func nameOf(legend string, series promql.Series) string {
	for name, value := range series.Metric.Map() {
		legend = strings.ReplaceAll(legend, "{{"+name+"}}", strings.TrimPrefix(value, "/kubeconnect.v1."))
	}
	return absentLabel.ReplaceAllString(legend, "(none)")
}

// queryRange returns the series of an expression from the start of the recording.
func (p *prometheus) queryRange(ctx context.Context, t *testing.T, text string) promql.Matrix {
	t.Helper()
	until := p.clock.at(time.Now())
	query, err := p.engine.NewRangeQuery(ctx, p.storage, nil, text, p.clock.began, until, until.Sub(p.clock.began)/pictureSteps)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer query.Close()
	found, err := query.Exec(ctx).Matrix()
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	// The matrix belongs to the query, which is closed.
	copied := make(promql.Matrix, 0, len(found))
	for _, series := range found {
		copied = append(copied, promql.Series{Metric: series.Metric.Copy(), Floats: append([]promql.FPoint(nil), series.Floats...)})
	}
	return copied
}
