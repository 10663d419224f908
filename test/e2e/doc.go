// Package e2e holds the real binary on a real API server to promises that are larger than one case: that a bad definition harms no other, that an
// installation of upstream kro is taken over without a write that changes anything, and that the published examples come up.
package e2e
