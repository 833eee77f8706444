/** What is said of a file that is not shown: what it is, and what one can do about it. Pure. */

import type { IconName } from '../ui/icons';

export type FileErrorText = {
  icon: IconName;
  title: string;
  text: string;
  /** True where its bytes can be saved all the same. */
  bytes: boolean;
};

/** Null for refusals that say nothing about the file, such as a server that does not answer. */
export function fileErrorText(code: string): FileErrorText | null {
  switch (code) {
    case 'FILE_TOO_LARGE':
      return { icon: 'file', title: 'Larger than 10 MiB', text: 'A file of this size is not opened as text. You can save it and open it with a program of your own.', bytes: true };
    case 'BINARY_FILE':
    case 'UNSUPPORTED_TYPE':
      return { icon: 'file', title: 'Not a text file', text: 'It holds bytes that are no text, of a kind that is not shown here. You can save it and open it with a program for its kind.', bytes: true };
    case 'NOT_UTF8':
      return { icon: 'text', title: 'Not UTF-8', text: 'It may be a text in an older encoding. Saving it from here would change it, so it is not opened; convert it to UTF-8 first.', bytes: true };
    case 'NOT_FOUND':
      return { icon: 'search', title: 'Nothing is there', text: 'It was moved or removed, or the address has a mistake in it. Choose another one in the folder.', bytes: false };
    case 'OUTSIDE_BOUNDARY':
      return { icon: 'lock', title: 'Outside the allowed folders', text: 'That path leaves the folders this server may read. The owner allows more of them under Settings, This server, files.roots.', bytes: false };
    case 'PERMISSION_DENIED':
      return { icon: 'lock', title: 'Not allowed to read it', text: 'The user this server runs as may not read that path. Change its permissions, or choose another one.', bytes: false };
    case 'OWNER_ONLY':
      return { icon: 'lock', title: 'Only the owner sees files', text: 'The owner of this server can open them to the other people with the setting files.people.', bytes: false };
    case 'NOT_A_FILE':
      return { icon: 'folder', title: 'Not a file', text: 'That is a folder, or a pipe or device, which is never opened.', bytes: false };
    case 'NOT_A_DIRECTORY':
      return { icon: 'file', title: 'Not a folder', text: 'That path is a file. Open the folder it lies in.', bytes: false };
    default:
      return null;
  }
}
