/** What a newcomer hands the scripted agent first: a thought, a plan, a file that needs a yes, and an end. */
export const FIRST_PROMPT = [
  'Write me a first file.',
  '#think First a plan, then a file.',
  '#plan {"entries":[{"content":"Write hello.md","status":"in_progress"},{"content":"Say that it is done","status":"pending"}]}',
  '#call write_file {"path":"hello.md","content":"# Hello\\n\\nWritten by a scripted agent, allowed by a person.\\n"}',
  '#plan {"entries":[{"content":"Write hello.md","status":"completed"},{"content":"Say that it is done","status":"completed"}]}',
  '#say Done: hello.md lies in this folder.',
].join('\n');
