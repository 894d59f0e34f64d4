package validate

import "fmt"

var toldOnceOnly = check{
	guarantee: Unique,
	name:      "a change is told once between two RESETs",
	broken: func(j *judge) string {
		if isAboutObject(j.event) && !j.isOfRights() && j.told[stepOf(j.event)] {
			return fmt.Sprintf("the change of UID %s at version %s has been told before", j.event.GetObject().GetUid(), j.event.GetResourceVersion())
		}
		return ""
	},
}
