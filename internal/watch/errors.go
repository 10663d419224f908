package watch

import (
	"errors"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// errStopped stands in a store that nobody keeps up any more.
var errStopped = errors.New("the watch has been stopped")

// SourceError says that a source cannot be listed or watched, and why. Its text is fit for a condition: it stays the same while the cause does.
// It unwraps to the error of the API.
type SourceError struct {
	Source Source
	Err    error
}

// Error names the source and the cause.
func (e *SourceError) Error() string {
	reason := e.Err.Error()
	if apierrors.IsNotFound(e.Err) {
		reason = "the API server does not serve this resource; is its CRD installed?"
	}
	return "cannot list/watch " + e.Source.String() + ": " + reason
}

// Unwrap gives the error of the API, for apierrors.IsNotFound and the like.
func (e *SourceError) Unwrap() error { return e.Err }

// cause strips what client-go wraps around an error. The URL of a request above all: it carries a random timeout, and a text that is never the same
// twice makes a condition flap.
func cause(err error) error {
	var status *apierrors.StatusError
	if errors.As(err, &status) {
		return status
	}
	var request *url.Error
	if errors.As(err, &request) {
		return request.Err
	}
	return err
}
