package cli

import (
	"bytes"
	"io"
	"net/http"
	"time"
)

// A kind that has just been established is served, but for its first milliseconds only with the answer 429, "storage is (re)initializing", and the
// advice to come back in a second. client-go takes the advice, and every new definition would wait that second. This room asks again sooner: the API
// server needs some ten milliseconds. Other answers 429, those of an API server that is overloaded, are passed on as they are.

// warmingText stands in the answer of an API server that is preparing the storage of a kind.
var warmingText = []byte("storage is (re)initializing")

// warmingDelays are the pauses before asking again. After the last the answer is passed on, and client-go waits as it is told.
var warmingDelays = []time.Duration{
	10 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond, 80 * time.Millisecond, 160 * time.Millisecond, 320 * time.Millisecond,
}

// maxWarmingAnswer bounds how much of an answer is read to find out what it says.
const maxWarmingAnswer = 4 << 10

// warming is a transport that waits for new storage.
type warming struct {
	next   http.RoundTripper
	delays []time.Duration
}

// waitForStorage wraps a transport; it fits rest.Config.Wrap.
func waitForStorage(next http.RoundTripper) http.RoundTripper {
	return &warming{next: next, delays: warmingDelays}
}

// WrappedRoundTripper lets client-go look behind this transport.
func (w *warming) WrappedRoundTripper() http.RoundTripper { return w.next }

// RoundTrip implements http.RoundTripper. Only reads are sent again, which have no body.
func (w *warming) RoundTrip(request *http.Request) (*http.Response, error) {
	for _, delay := range w.delays {
		response, err := w.next.RoundTrip(request)
		if err != nil || request.Method != http.MethodGet || !isWarming(response) {
			return response, err
		}
		timer := time.NewTimer(delay)
		select {
		case <-timer.C:
		case <-request.Context().Done():
			timer.Stop()
			return response, nil
		}
		response.Body.Close()
	}
	return w.next.RoundTrip(request)
}

// isWarming reads the answer and puts back what it has read.
func isWarming(response *http.Response) bool {
	if response.StatusCode != http.StatusTooManyRequests {
		return false
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxWarmingAnswer))
	rest := response.Body
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), rest), rest}
	return err == nil && bytes.Contains(text, warmingText)
}
