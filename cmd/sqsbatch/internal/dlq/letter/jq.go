package letter

import _ "github.com/itchyny/gojq" // programs of --where and --edit
