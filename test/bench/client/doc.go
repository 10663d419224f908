// Package client is how the measuring programs talk to the API server: raw requests, so that the measuring side costs
// little of the machine that it shares with what is measured.
//
// Objects go in as text or maps and come out as Items, which hold the few fields that measurements look at. Each runs
// many requests at once.
package client
