// Package wire is how objects come off the wire: dynamic clients that decode an answer or an event once, where those of client-go go over its bytes
// half a dozen times (frame, event, apiVersion and kind, validity, items, value). Decoding was two fifths of the controller's processor time.
//
// In come a rest.Config and an HTTP client, out comes a dynamic.Interface; nothing else changes. Requests are encoded as before. Whatever the decoder
// here does not take (a Status, an object without a kind, bytes that are not JSON) goes to the serializer of client-go, which decides and words the
// error.
//
// What a field becomes is the same as there: int64 where a number is an integer that fits, float64 otherwise, the last of equal names wins. See
// decode_test.go, which compares the two on generated documents.
package wire
