// Package instance serves the instances of all definitions: one controller, one queue, however many kinds.
//
// In comes a [Definition] (Serve): a compiled Program for a kind. From then on every instance of the kind is kept in the
// state that the Program says, until Withdraw. What moves it are events: the instance changed, an object that it owns
// changed, an object that it reads changed. Nothing polls; only failures are tried again, with growing delays.
//
// One reconcile reads top to bottom in reconcile.go. Its requests, for a new instance: one metadata patch (finalizer,
// labels, inventory: manage.go), one apply a child (internal/executor), one status write (status.go). For one in order:
// none. Deletion (deletion.go) goes by the inventory alone, wave by wave, and needs no Program.
package instance
