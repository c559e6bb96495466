package ltm

// What the tests of the package from outside share with those from inside.
var (
	SlowSelect   = slowSelect
	DrawSelector = drawSelector
)
