package cli

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// server answers with the texts one after the other, 429 while they last and then 200.
type server struct {
	texts []string
	asked int
}

func (s *server) RoundTrip(*http.Request) (*http.Response, error) {
	s.asked++
	if s.asked > len(s.texts) {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("ok"))}, nil
	}
	return &http.Response{StatusCode: http.StatusTooManyRequests, Body: io.NopCloser(strings.NewReader(s.texts[s.asked-1]))}, nil
}

func TestNewStorageIsAwaited(t *testing.T) {
	const warm, busy = `{"message":"storage is (re)initializing"}`, `{"message":"Too many requests, please try again later."}`
	cases := map[string]struct {
		method string
		texts  []string
		asked  int
		code   int
		body   string
	}{
		"storage that comes soon":            {http.MethodGet, []string{warm, warm}, 3, 200, "ok"},
		"storage that does not":              {http.MethodGet, []string{warm, warm, warm, warm}, 3, 429, warm},
		"an overloaded server is left alone": {http.MethodGet, []string{busy, busy}, 1, 429, busy},
		"a write is not sent again":          {http.MethodPost, []string{warm}, 1, 429, warm},
		"any other answer":                   {http.MethodGet, nil, 1, 200, "ok"},
	}
	for reason, c := range cases {
		s := &server{texts: c.texts}
		request, err := http.NewRequest(c.method, "http://h/apis", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := (&warming{next: s, delays: []time.Duration{time.Nanosecond, time.Nanosecond}}).RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil || s.asked != c.asked || response.StatusCode != c.code || string(body) != c.body {
			t.Errorf("%s: asked %d times, answer %d %q, error %v", reason, s.asked, response.StatusCode, body, err)
		}
	}
}
