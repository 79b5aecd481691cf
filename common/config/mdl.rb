# Rules of lint-markdown for this repository, as mdl reads them.
all
rule 'MD007', :indent => 2
rule 'MD013', :line_length => 160, :code_blocks => false, :tables => false
exclude_rule 'MD014' # commands are shown with $ where their output follows
rule 'MD029', :style => :ordered
exclude_rule 'MD026' # a heading may be a question
exclude_rule 'MD033' # HTML where Markdown has nothing
exclude_rule 'MD041' # a page of notes may begin with its text
