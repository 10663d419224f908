package wire

import (
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// frames reads a stream of JSON values, one with each Read. A value that is longer than the buffer comes in parts, all but the last with
// io.ErrShortBuffer, which is how k8s.io/apimachinery/pkg/runtime/serializer/streaming asks for it.
type frames struct {
	stream io.ReadCloser
	failed *failure
	text   *jsontext.Decoder
	// rest is what is left of the value under way. It is part of the buffer of text.
	rest []byte
}

func newFrames(r io.ReadCloser) *frames {
	failed := &failure{stream: r}
	// Cutting the stream does not depend on the text being valid; whoever decodes a frame sees to that.
	return &frames{stream: r, failed: failed, text: jsontext.NewDecoder(failed, lenient, jsontext.AllowInvalidUTF8(true))}
}

// Read implements io.Reader.
func (f *frames) Read(into []byte) (int, error) {
	if len(f.rest) == 0 {
		value, err := f.text.ReadValue()
		if err != nil {
			return 0, f.cause(err)
		}
		f.rest = value
	}
	n := copy(into, f.rest)
	if f.rest = f.rest[n:]; len(f.rest) > 0 {
		return n, io.ErrShortBuffer
	}
	return n, nil
}

// cause gives the error of the stream itself: whoever watches tells by it whether the connection was closed, broke, or timed out.
func (f *frames) cause(err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return io.ErrUnexpectedEOF
	case f.failed.err != nil:
		return f.failed.err
	}
	return err
}

// Close implements io.Closer.
func (f *frames) Close() error { return f.stream.Close() }

// failure remembers why a stream ended.
type failure struct {
	stream io.Reader
	err    error
}

func (f *failure) Read(into []byte) (int, error) {
	n, err := f.stream.Read(into)
	if err != nil {
		f.err = err
	}
	return n, err
}
