// Package web serves the console, a page that is built from src into dist and embedded into the
// binary. The page calls the service over Connect-Web, at its own origin only.
package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
)

// dist is the built page. It contains only .gitkeep until the page has been built.
//
//go:embed all:dist
var dist embed.FS

// Handler returns a handler that serves the console at "/" and the console's files below it, for
// GET and HEAD. If the page was not built into this binary, "/" responds with 503 and a message
// that says how to build it.
func Handler(config Config) http.Handler {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // only for a malformed path
	}
	return newHandler(files, config)
}

// contentTypes are the content types by extension. Files with other extensions are not served.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// policy returns the Content-Security-Policy. It allows the page to load scripts and styles from its
// own origin, and to connect to it and to these origins.
func policy(origins []string) string {
	return strings.Join([]string{
		"default-src 'none'",
		"script-src 'self'",
		"style-src 'self'",
		"img-src 'self'",
		strings.Join(append([]string{"connect-src 'self'"}, origins...), " "),
		"base-uri 'none'",
		"form-action 'none'",
		"frame-ancestors 'none'",
		"require-trusted-types-for 'script'",
		"trusted-types 'none'",
	}, "; ")
}

// headers are set on all responses, with the policy.
var headers = map[string]string{
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
	// Browsers revalidate the files by ETag on each load, so that a page never runs with the
	// scripts of another version.
	"Cache-Control": "no-cache",
}

// views are the first segments of the addresses of the page's views. The page shows the view of its
// address; see src/app/router.tsx.
var views = []string{"r", "o", "logs", "service", "signin"}

// isView reports whether a URL path is the address of a view of the page.
func isView(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return path == "/" || slices.Contains(views, first)
}

// asset is one file of the page.
type asset struct {
	content     []byte
	contentType string
	etag        string
}

// handler serves the page from memory. It is immutable.
type handler struct {
	assets map[string]asset // by URL path
	config []byte           // the content of configPath
	policy string
}

func newHandler(files fs.FS, config Config) *handler {
	h := &handler{assets: map[string]asset{}, config: config.encode(), policy: policy(config.origins())}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		contentType := contentTypes[path.Ext(name)]
		if err != nil || entry.IsDir() || contentType == "" {
			return err
		}
		content, err := fs.ReadFile(files, name)
		h.assets["/"+name] = asset{content, contentType, etag(content)}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		panic(err) // embedded files can always be read
	}
	return h
}

func etag(content []byte) string {
	sum := sha256.Sum256(content)
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range headers {
		w.Header().Set(name, value)
	}
	w.Header().Set("Content-Security-Policy", h.policy)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the console accepts GET and HEAD only", http.StatusMethodNotAllowed)
		return
	}
	switch name := r.URL.Path; {
	case name == configPath:
		h.serveConfig(w)
	case isView(name):
		h.serveAsset(w, r, "/index.html")
	default:
		h.serveAsset(w, r, name)
	}
}

// serveConfig responds with the configuration. It is not cached, because a restart of the service
// can change it.
func (h *handler) serveConfig(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(h.config) // the page notices an interrupted response
}

func (h *handler) serveAsset(w http.ResponseWriter, r *http.Request, name string) {
	w.Header().Set("Vary", "Accept")
	asset, ok := h.assets[name]
	switch {
	case ok:
		w.Header().Set("Content-Type", asset.contentType)
		w.Header().Set("ETag", asset.etag)
		if strings.HasPrefix(name, "/assets/") {
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable") // their names have a hash of the content
		}
		http.ServeContent(direct{w, asset.content}, r, name, time.Time{}, bytes.NewReader(asset.content))
	case name == "/index.html":
		http.Error(w, "the console is not in this binary: run `make build`", http.StatusServiceUnavailable)
	case isNavigation(r) && h.assets["/index.html"].content != nil:
		h.serveNotFound(w, r)
	default:
		http.Error(w, "the console has no such file", http.StatusNotFound)
	}
}

// direct writes parts of a content without a buffer between, which a response that is not read would keep.
type direct struct {
	http.ResponseWriter
	content []byte
}

// ReadFrom implements io.ReaderFrom, for [http.ServeContent] with a reader of the content.
func (d direct) ReadFrom(part io.Reader) (int64, error) {
	if limited, ok := part.(*io.LimitedReader); ok {
		if of, ok := limited.R.(*bytes.Reader); ok {
			begin := of.Size() - int64(of.Len())
			n, err := d.Write(d.content[begin : begin+limited.N])
			return int64(n), err
		}
	}
	return io.Copy(struct{ io.Writer }{d.ResponseWriter}, part)
}

// Unwrap returns the writer for [http.ResponseController].
func (d direct) Unwrap() http.ResponseWriter { return d.ResponseWriter }

// isNavigation reports whether a person opens the address in a browser: scripts, styles and images
// are not requested as HTML.
func isNavigation(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

// serveNotFound serves the page with status 404. The page says that its address is unknown.
func (h *handler) serveNotFound(w http.ResponseWriter, r *http.Request) {
	page := h.assets["/index.html"]
	w.Header().Set("Content-Type", page.contentType)
	w.WriteHeader(http.StatusNotFound)
	if r.Method != http.MethodHead {
		_, _ = w.Write(page.content)
	}
}
