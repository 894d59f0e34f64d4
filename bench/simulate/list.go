package simulate

import (
	"fmt"
	"net/http"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// writeSize is the number of bytes that are written at once.
const writeSize = 64 << 10

// list writes a list, or a page of it. As in an API server, a list at any version (0) ignores the
// limit.
func (h *Handler) list(w http.ResponseWriter, r *http.Request, requested request) error {
	page := requested.selected
	version := uint64(0)
	var err error
	switch {
	case requested.options.Continue != "":
		version, page.from, err = parseContinue(requested.options.Continue)
	case requested.options.ResourceVersionMatch == metav1.ResourceVersionMatchExact:
		version = requested.version
	}
	if err != nil || page.from > page.to {
		return apierrors.NewBadRequest("invalid continue token")
	}
	if err := h.reach(r, max(version, requested.version)); err != nil {
		return err
	}
	meta := metav1.ListMeta{}
	if limit := int(requested.options.Limit); limit > 0 && requested.options.ResourceVersion != "0" {
		page.to = min(page.to, page.from+limit)
	}
	states, version, _, err := h.pods.snapshot(page, version)
	if err != nil {
		return err
	}
	meta.ResourceVersion = strconv.FormatUint(version, 10)
	if page.to < requested.selected.to {
		meta.Continue = fmt.Sprintf("%d:%d", version, page.to)
		meta.RemainingItemCount = ptr.To(int64(requested.selected.to - page.to))
	}
	return h.writeList(w, requested, meta, page.from, states)
}

// parseContinue reads a continue token: the version of the list, and the first pod of the page.
func parseContinue(token string) (version uint64, from int, err error) {
	_, err = fmt.Sscanf(token, "%d:%d", &version, &from)
	return version, from, err
}

func (h *Handler) writeList(
	w http.ResponseWriter, requested request, meta metav1.ListMeta, from int, states []state,
) error {
	kind := corev1.SchemeGroupVersion.WithKind("PodList")
	if requested.metadata {
		kind = metav1.SchemeGroupVersion.WithKind("PartialObjectMetadataList")
	}
	e := requested.template.encoding
	buffer, err := e.listHead(kind, meta, len(states), len(requested.template.item.text))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", e.contentType(false))
	for i, s := range states {
		if i > 0 {
			buffer = append(buffer, e.separator()...)
		}
		buffer = requested.template.item.append(buffer, h.pods, from+i, s)
		if len(buffer) < writeSize {
			continue
		}
		if _, err := w.Write(buffer); err != nil {
			return nil // the client has disconnected
		}
		buffer = buffer[:0]
	}
	_, _ = w.Write(append(buffer, e.listTail()...))
	return nil
}
