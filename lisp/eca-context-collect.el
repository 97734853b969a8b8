;;; eca-context-collect.el --- Gather what a request asks for  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; From a request to its facts: the plan comes from the module, the file's buffer is found or made, the
;; features' hooks become a job.  It knows no provider but by the default values of the hooks.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'url-util)
(require 'eca-context)
(require 'eca-context-background)
(require 'eca-context-job)
(require 'eca-context-diagnostics)
(require 'eca-context-document)
(require 'eca-context-eglot)
(require 'eca-context-eldoc)
(require 'eca-context-elisp)
(require 'eca-context-defun)
(require 'eca-context-files)
(require 'eca-context-hosts)
(require 'eca-context-headless)
(require 'eca-context-lsp-mode)
(require 'eca-context-place)
(require 'eca-context-symbol)
(require 'eca-context-imenu)
(require 'eca-context-workspace)
(require 'eca-context-xref)
(require 'eca-context-flycheck)
(require 'eca-context-flymake)

(declare-function eca-context-module-files "ext:eca-context-module" (outcomes) t)
(declare-function eca-context-module-plan "ext:eca-context-module" (method params options) t)
(declare-function eca-context-module-answer "ext:eca-context-module"
                  (id method params options facts) t)
(declare-function eca-context-module-error-frame "ext:eca-context-module" (id code message) t)
(declare-function eca-context-serve-mode "eca-context-serve")

;; Abnormal hooks in the manner of `eldoc-documentation-functions'; `eca-context-job-run' says how their
;; functions are called.  REQUEST is a plist: `:path' of the file, `:roots', `:deadline'.  An outcome is
;; a plist: `:provider', `:kind' (semantic, textual, unknown), `:status' (ok or a code of the protocol),
;; `:reason', `:retry', `:items'; each hook says what its items are.  Where items name files whose text
;; is not simply what is on disk, `:texts' may hold it, vectors [PATH TEXT MODIFIED].  In place of items
;; `:raw' may hold what a language server answered, with `:encoding' and `:role'.
(defvar eca-context-symbol-functions '(eca-context-symbol-at-point)
  "Functions that return the symbol at point.
An item is [TEXT [LINE CHARACTER END-LINE END-CHARACTER] CONTEXT].")
;; A server of ours comes before xref, which knows more than it only in Emacs Lisp, where there is none:
;; its search for text takes long, and is for nothing where a server answers.
(defvar eca-context-definitions-functions
  '(eca-context-eglot-definitions eca-context-lsp-mode-definitions
    eca-context-headless-definitions eca-context-xref-definitions)
  "Functions that return the definitions of the symbol at point.
An item is [FILE LINE CHARACTER END-LINE END-CHARACTER NAME ROLE CONTAINER], nil
for what is not known.")
(defvar eca-context-references-functions
  '(eca-context-eglot-references eca-context-lsp-mode-references
    eca-context-headless-references eca-context-xref-references)
  "Functions that return the references to the symbol at point.
An item is [FILE LINE CHARACTER END-LINE END-CHARACTER NAME DECLARATION
CONTAINER]; DECLARATION is t, `:json-false', or nil.")
(defvar eca-context-document-symbols-functions
  '(eca-context-eglot-document-symbols eca-context-lsp-mode-document-symbols
    eca-context-headless-symbols eca-context-imenu-document-symbols)
  "Functions that return the symbols of the buffer.
An item is [NAME LINE CHARACTER CHILDREN HINT].")
(defvar eca-context-enclosing-symbols-functions
  '(eca-context-eglot-enclosing-symbols eca-context-lsp-mode-enclosing-symbols
    eca-context-defun-enclosing-symbols eca-context-headless-symbols eca-context-defun-named)
  "Functions that return the symbols around point, outermost first.
An item is [NAME KIND RANGE SELECTION-RANGE], KIND a word of LSP or a mode's.")
(defvar eca-context-documentation-functions
  '(eca-context-eglot-documentation eca-context-lsp-mode-documentation
    eca-context-elisp-documentation eca-context-eldoc-documentation
    eca-context-headless-documentation)
  "Functions that return what is written about the symbol at point.
An item is [ROLE KIND VALUE]: `hover', `signature' or `docstring'; `plaintext'
or `markdown'; text without properties.")
(defvar eca-context-workspace-functions '(eca-context-workspace)
  "Functions that return what the user has open.
The one item is a plist: `:roots' [[PATH NAME]...], `:currentFile', `:openFiles'
[[PATH MODIFIED VISIBLE]...], `:selection' [PATH RANGE TEXT].")
(defvar eca-context-diagnostics-functions
  '(eca-context-eglot-diagnostics eca-context-lsp-mode-diagnostics
    eca-context-flymake-diagnostics eca-context-flycheck-diagnostics
    eca-context-headless-diagnostics)
  "Functions that return the diagnostics of the buffer; all are asked.
An item is [FILE SEVERITY SOURCE CODE [LINE CHARACTER END-LINE END-CHARACTER]
MESSAGE].  An outcome may also say `:fresh': t, `:json-false', or nil, and
`:exact' t, if all places in the asked file were counted in its buffer.")

(defconst eca-context-collect-features
  '(("symbolAtPosition" :symbolAtPosition eca-context-symbol-functions needs-point)
    ("definitions" :definitions eca-context-definitions-functions needs-point)
    ("references" :references eca-context-references-functions needs-point)
    ("documentSymbols" :documentSymbols eca-context-document-symbols-functions)
    ("enclosingSymbols" :enclosingSymbols eca-context-enclosing-symbols-functions needs-point)
    ("documentation" :documentation eca-context-documentation-functions needs-point)
    ("workspace" :workspace eca-context-workspace-functions)
    ("diagnostics" :diagnostics eca-context-diagnostics-functions))
  "Each feature, its key in the facts, its hook, and whether it needs point.")

;; What must be noted while it happens, not when somebody asks.
(defun eca-context-collect-watch ()
  "Note from now on which text each checker's results are about."
  (eca-context-eglot-watch)
  (eca-context-flycheck-watch)
  (eca-context-lsp-mode-watch))

(defun eca-context-collect-unwatch ()
  "Note nothing any more."
  (eca-context-eglot-unwatch)
  (eca-context-flycheck-unwatch)
  (eca-context-lsp-mode-unwatch)
  (eca-context-headless-stop))

(defvar eca-context-collect--n-open 0
  "How many requests are on their way.")

(defun eca-context-collect-unload ()
  "Switch all off so that a file of this package can be unloaded.
Signal an error while requests are on their way: each gets an answer.  Return
nil, as the functions that `unload-feature' calls do."
  (when (> eca-context-collect--n-open 0)
    (user-error "Eca-context is answering %d requests; unload it when it is done"
                eca-context-collect--n-open))
  (when eca-context-mode
    (eca-context-mode -1))
  (when (bound-and-true-p eca-context-serve-mode)
    (eca-context-serve-mode -1)))

(defalias 'eca-context-collect-unload-function #'eca-context-collect-unload)
(defalias 'eca-context-job-unload-function #'eca-context-collect-unload)

(defun eca-context-answer (id method params context send)
  "Answer request ID for METHOD with PARAMS and call SEND once with the frame.
CONTEXT is a plist: `:roots', folders outside of which no file is opened (nil:
no limit), and `:deadline', a `float-time'.  The work is done in a timer, never
in the caller.  An ID that is neither a string nor a number nor nil gets an
error without one.  An unusable module is an error here."
  (let ((trouble (eca-context-module-trouble)))
    (when trouble
      (error "%s" (concat "eca-context: " trouble))))
  (setq eca-context-collect--n-open (1+ eca-context-collect--n-open))
  (eca-context-job-soon
   (lambda ()
     (let* ((default-directory temporary-file-directory)
            (open t)
            (send (lambda (frame)
                    (when open
                      (setq open nil
                            eca-context-collect--n-open (1- eca-context-collect--n-open)))
                    (funcall send frame)))
            (refuse (lambda (id code message)
                      (funcall send (eca-context-module-error-frame
                                     id code (concat "eca-context: " message)))))
            (answer (lambda (facts)
                      (let ((frame (condition-case err
                                       (eca-context-module-answer
                                        id method params (eca-context-options)
                                        (eca-context-collect--once facts))
                                     (error (list (error-message-string err))))))
                        (if (consp frame)
                            (funcall refuse id -32603 (car frame))
                          (funcall send frame))))))
       (if (not (or (null id) (stringp id) (numberp id)))
           (funcall refuse nil -32600 "an id is a string or a number")
         (eca-context-collect--guarded
          answer
          (lambda ()
            (save-match-data
              (eca-context-files-at-once
                (eca-context-collect method params (eca-context-collect--context context)
                                     answer))))))))))

(defun eca-context-collect--once (facts)
  "Return FACTS without the raw results that lie in them twice.
The longest one, of all symbols, mostly does: it tells what encloses a place."
  (let ((raws (mapcar (lambda (outcome) (plist-get outcome :raw))
                      (plist-get facts :documentSymbols))))
    (if (seq-every-p #'null raws)
        facts
      (plist-put (copy-sequence facts) :enclosingSymbols
                 (mapcar (lambda (outcome)
                           (let* ((raw (plist-get outcome :raw))
                                  (idx (and raw (seq-position raws raw #'eq))))
                             (if idx
                                 (append (list :raw nil :rawOf idx) outcome)
                               outcome)))
                         (plist-get facts :enclosingSymbols))))))

(defun eca-context-collect--guarded (done function)
  "Call FUNCTION; if it signals an error, call DONE with facts that say so."
  (let ((trouble (condition-case err
                     (progn (funcall function) nil)
                   (error (error-message-string err)))))
    (when trouble
      (funcall done (list :trouble (list :code "error" :reason trouble))))))

(defun eca-context-collect--context (context)
  "Return CONTEXT with only those folders among its `:roots' that can be some.
If there are roots and none of them can be, no file is inside."
  (let ((roots (plist-get context :roots)))
    (append (list :roots
                  (and roots
                       (or (seq-filter (lambda (root)
                                         (and (stringp root)
                                              (not (string-search "\0" root))))
                                       roots)
                           (list (file-name-as-directory null-device)))))
            context)))

(defun eca-context-collect (method params context done)
  "Gather facts for METHOD with PARAMS under CONTEXT; call DONE once with them."
  (let ((plan (condition-case err
                  (eca-context-module-plan method params (eca-context-options))
                (error (list :error (error-message-string err))))))
    (if (plist-get plan :error)
        (funcall done (list :root (car (plist-get context :roots))))
      (let* ((uri (plist-get plan :uri))
             (path (if uri
                       (eca-context-uri-to-path uri)
                     (and (equal method "editor/getContext")
                          (eca-context-files-current (plist-get context :roots)))))
             (trouble (eca-context-collect--trouble uri path (plist-get context :roots) method)))
        (cond
         (trouble (eca-context-collect--without-file
                   plan (list :document (and path (list :path path)) :trouble trouble)
                   context done))
         ((null path) (eca-context-collect--everywhere plan context done))
         (t (eca-context-collect--file path plan context done)))))))

(defun eca-context-collect--without-file (plan facts context done)
  "Gather what PLAN wants under CONTEXT that needs no file, and call DONE with it.
What is known already is in FACTS."
  (eca-context-job-run
   (eca-context-collect--chains (seq-intersection (plist-get plan :features) '("workspace"))
                                (window-buffer) nil context)
   (plist-get context :deadline)
   (lambda (outcomes)
     (funcall done (append outcomes facts)))))

(defun eca-context-uri-to-path (uri)
  "Return the absolute file name that URI names, or nil for another scheme."
  (when (string-match "\\`file:\\(?://[^/]*\\)?\\(/.*\\)\\'" uri)
    (let ((path (match-string 1 uri)))
      (when (string-search "%" path)
        (setq path (decode-coding-string
                    (url-unhex-string (encode-coding-string path 'utf-8-unix) t)
                    'utf-8-unix)))
      (if (string-match "\\`/\\([A-Za-z]\\)\\(:.*\\)\\'" path)
          (concat (downcase (match-string 1 path)) (match-string 2 path))
        path))))

(defun eca-context-collect--trouble (uri path roots method)
  "Return why nothing can be said of PATH, which URI named, or nil.
ROOTS are the workspace folders; METHOD without URI may ask about all of them."
  (pcase-let
      ((`(,code . ,reason)
        (cond
         ((and (null uri) (null path))
          (and (equal method "editor/getContext")
               '("no-file" . "no file was named and none of the workspace is open")))
         ((null path) (cons "unsupported-scheme" (format "only file: URIs are answered, not %s" uri)))
         ((string-search "\0" path) '("not-found" . "there is no such file"))
         ((eca-context-files-excluded-p path)
          '("excluded" . "the user excludes this file"))
         ((eca-context-document-visiting path) nil)
         (t (eca-context-collect--unreadable path roots)))))
    (and code (list :code code :reason reason))))

(defun eca-context-collect--unreadable (path roots)
  "Return why what is on disk as PATH is not to be read, a cons, or nil.
That is a code and a reason.  ROOTS are the workspace folders."
  (cond
   ((eca-context-hosts-remote-p path)
    '("remote" . "the file is on another host and not open in the editor"))
   ;; What an answer named, as a library's source, may be asked about, too.
   ((not (or (eca-context-files-inside-p path roots) (eca-context-headless-named-p path)))
    '("outside-workspace" . "the file lies outside the workspace folders"))
   ((not (file-exists-p path)) '("not-found" . "there is no such file"))
   ((not (file-regular-p path)) '("not-a-file" . "that is no regular file"))
   ((not (file-readable-p path)) '("error" . "the file cannot be read"))
   ((let ((size (file-attribute-size (file-attributes path))))
      (and large-file-warning-threshold (> size large-file-warning-threshold)))
    '("too-large" . "the file is over `large-file-warning-threshold'"))))

(defun eca-context-collect--file (path plan context done)
  "Gather what PLAN wants of the file PATH under CONTEXT and call DONE with it."
  (let* ((visiting (eca-context-document-buffer path))
         ;; A buffer whose file has changed is looked at, not refreshed, unless the user has it so.
         (outdated (and visiting (eca-context-document-outdated-p visiting)))
         (wants-copy (or outdated (not visiting)))
         (unreadable (and wants-copy
                          (eca-context-collect--unreadable
                           path (and (not (eca-context-document-opened-p path))
                                     (plist-get context :roots)))))
         (copy (and wants-copy (not unreadable) (eca-context-background-buffer path)))
         (buffer (or copy (and (not unreadable) visiting)))
         (facts nil)
         (finish (lambda (facts)
                   (eca-context-background-kill copy)
                   (funcall done facts)))
         (fail (lambda (trouble)
                 (funcall finish (append trouble (list :document (list :path path)))))))
    (condition-case err
        (with-current-buffer (or buffer (error "%s" (cdr unreadable)))
          (save-excursion
            (save-restriction
              (widen)
              (setq facts (append (list :document (eca-context-document-block path (not copy)
                                                                                 outdated)
                                        :texts (eca-context-document-texts path (not copy)))
                                  (eca-context-document-position
                                   plan (and visiting (not outdated) visiting)))))))
      (error (setq facts (list :document (list :path path)
                               :trouble (list :code (or (car unreadable) "error")
                                              :reason (error-message-string err))))))
    (if (plist-get facts :trouble)
        (funcall finish facts)
      (eca-context-job-run
       (eca-context-collect--chains (plist-get plan :features) buffer (plist-get facts :point)
                                    (append (list :path path :copy (and copy t)
                                                  :outdated outdated)
                                            context))
       (plist-get context :deadline)
       (lambda (outcomes)
         (let (all)
           (eca-context-collect--guarded
            fail
            (lambda ()
              (setq all (append (eca-context-diagnostics-near (plist-get outcomes :diagnostics)
                                                              plan)
                                outcomes (eca-context-collect--places outcomes path facts)
                                facts))))
           (when all
             (funcall finish all))))))))

(defun eca-context-collect--chains (features buffer point request)
  "Return the chains of FEATURES to be asked in BUFFER at POINT with REQUEST.
Without POINT there is none of a feature that needs it.  Their keys are those of
the features, or each the `:path' of REQUEST if it asks about many files."
  (mapcan
   (lambda (feature)
     (pcase-let ((`(,_ ,key ,hook ,needs-point) (assoc feature eca-context-collect-features)))
       (when (or point (not needs-point))
         (let ((chain (lambda (functions)
                        (eca-context-job-chain
                         :key (if (plist-get request :everywhere) (plist-get request :path) key)
                         :functions functions :buffer buffer
                         :point (and needs-point point) :request request)))
               (functions (eca-context-job-functions hook buffer)))
           (cond ((not (eq key :diagnostics)) (list (funcall chain functions)))
                 ((plist-get request :copy)
                  (list (funcall chain '(eca-context-collect--unvisited-diagnostics))))
                 (t (mapcar (lambda (function) (funcall chain (list function))) functions)))))))
   features))

(defun eca-context-collect--unvisited-diagnostics (request callback)
  "Return diagnostics of a file whose copy is the current buffer, or `:async'.
REQUEST and CALLBACK are those of `eca-context-job-run'."
  (or (let ((path (plist-get request :path))
            (deadline (plist-get request :deadline)))
        ;; A server that has the older text open cannot be given the newer one.
        (and (not (plist-get request :outdated))
             (or (eca-context-eglot-diagnostics-of-file path callback deadline)
                 (eca-context-lsp-mode-diagnostics-of-file path callback deadline))
             :async))
      (eca-context-collect--checked request callback)
      (list :provider "" :kind "unknown" :status "no-provider"
            :reason (if (plist-get request :outdated)
                        "the file has changed on disk and the editor still has its older text"
                      "the file is not open, and no checker for it is running"))))

(defun eca-context-collect--checked (request callback)
  "Have a server of ours or the user's checkers look at the current copy of a file.
REQUEST and CALLBACK are those of `eca-context-job-run'.  A server that is not
there is told of only where nobody else looks."
  (let ((served (eca-context-headless-diagnostics request callback)))
    (if (eq served :async)
        served
      (or (eca-context-background-diagnostics request callback)
          (and (not (equal (plist-get served :status) "no-provider")) served)))))

(defun eca-context-collect--item-file (item)
  "Return the file that ITEM names, or nil if it names none that can be."
  (let ((file (and (vectorp item) (> (length item) 0) (aref item 0))))
    (and (stringp file)
         (not (string= file ""))
         (not (string-search "\0" file))
         file)))

(defun eca-context-collect--files (outcomes)
  "Return each file that OUTCOMES, the facts of all features, name."
  (let ((seen (make-hash-table :test #'equal))
        (raw nil))
    (dolist (key '(:definitions :references :diagnostics))
      (dolist (outcome (plist-get outcomes key))
        (mapc (lambda (item)
                (let ((file (eca-context-collect--item-file item)))
                  (when file (puthash file t seen))))
              (plist-get outcome :items))
        (when (or (plist-get outcome :raw) (plist-get outcome :rawJson))
          (push outcome raw))))
    (append (hash-table-keys seen)
            (and raw (eca-context-module-files raw)))))

(defun eca-context-collect--places (outcomes path facts)
  "Return what the module must know of the files that OUTCOMES name beside PATH.
These are files the user excludes, and the texts of buffers that the module
cannot read from disk, which are added to those of FACTS."
  (let ((files (remove path (eca-context-collect--files outcomes))))
    (list :excluded (eca-context-files-at-once
                      (mapcan (lambda (file)
                                (let ((path (or (eca-context-uri-to-path file) file)))
                                  (and (eca-context-files-excluded-p path) (list file path))))
                              files))
          :texts
          (append (plist-get facts :texts)
                  (mapcan (lambda (outcome) (append (plist-get outcome :texts) nil))
                          (append (plist-get outcomes :definitions)
                                  (plist-get outcomes :references)))
                  (eca-context-collect--texts files)))))

(defun eca-context-collect--texts (files)
  "Return the texts of those of FILES that the module cannot read from disk.
They are what buffers have, unsaved or in an encoding that is not UTF-8."
  (let ((opaque (seq-filter (lambda (buffer)
                              (with-current-buffer buffer
                                (and buffer-file-name
                                     (or (buffer-modified-p)
                                         (eca-context-place-opaque-p buffer-file-name)))))
                            (buffer-list))))
    (delq nil
          (mapcar (lambda (file)
                    (let ((buffer (eca-context-collect--visiting file opaque)))
                      (and buffer
                           (with-current-buffer buffer
                             (eca-context-place-text file (buffer-modified-p))))))
                  (and opaque files)))))

(defun eca-context-collect--visiting (file buffers)
  "Return which of BUFFERS visits FILE, under that name or its true one, or nil."
  (seq-find (lambda (buffer)
              (member file (list (buffer-file-name buffer)
                                 (buffer-local-value 'buffer-file-truename buffer))))
            buffers))

(defun eca-context-collect--everywhere (plan context done)
  "Gather for PLAN what is known about files in the workspace of CONTEXT.
DONE is called once.
Each buffer that visits one is asked, and flymake's list of other files is read."
  (let* ((roots (plist-get context :roots))
         (buffers (eca-context-files-at-once
                    (seq-filter (lambda (buffer)
                                  (eca-context-files-shown-p (buffer-file-name buffer) roots))
                                (buffer-list))))
         (outdated (mapcar #'buffer-file-name
                           (seq-filter #'eca-context-document-outdated-p buffers))))
    (eca-context-job-run
     (mapcan (lambda (buffer)
               (eca-context-collect--chains
                (plist-get plan :features) buffer nil
                (append (list :path (buffer-file-name buffer) :everywhere t) context)))
             buffers)
     (plist-get context :deadline)
     (lambda (outcomes)
       (let (facts)
         (eca-context-collect--guarded
          (lambda (trouble) (setq facts trouble))
          (lambda ()
            (let ((said (list :diagnostics
                              (eca-context-files-at-once
                                (eca-context-collect--shown
                                 (append (eca-context-collect--listed roots)
                                         (cl-loop for (file said) on outcomes by #'cddr
                                                  append (mapcar (lambda (outcome)
                                                                   (eca-context-collect--named
                                                                    outcome file))
                                                                 (if (member file outdated)
                                                                     (eca-context-collect--older
                                                                      said file)
                                                                   said))))
                                 roots)))))
              ;; Places are brought onto the text as the editor has it, which may not be saved.
              (setq facts (append said
                                  (list :texts (eca-context-collect--texts
                                                (eca-context-collect--files said))))))))
         (funcall done (append (list :root (car roots)) facts)))))))

(defun eca-context-collect--older (outcomes file)
  "Return OUTCOMES of FILE, of which the disk has a newer text than its buffer.
What checkers found in the older one is not told, nor that they found nothing."
  (if (seq-some (lambda (outcome) (equal (plist-get outcome :status) "ok")) outcomes)
      (list (list :provider "" :kind "unknown" :status "error"
                  :reason (format "%s has changed on disk and the editor still has its older text"
                                  (file-name-nondirectory file))))
    outcomes))

(defun eca-context-collect--listed (roots)
  "Return outcomes about files in ROOTS that no buffer visits but a client lists."
  (mapcar (lambda (found)
            (list :provider (car found) :kind "unknown" :status "ok" :items (cdr found)))
          (list (cons "flymake" (eca-context-flymake-listed-items nil))
                (cons "lsp-mode" (eca-context-lsp-mode-listed-items roots)))))

(defun eca-context-collect--named (outcome file)
  "Return OUTCOME with FILE in those of its items that name none."
  (plist-put (copy-sequence outcome) :items
             (mapcar (lambda (item)
                       (if (and (vectorp item) (> (length item) 0)
                                (not (eca-context-collect--item-file item)))
                           (let ((item (copy-sequence item)))
                             (aset item 0 file)
                             item)
                         item))
                     (plist-get outcome :items))))

(defun eca-context-collect--shown (outcomes roots)
  "Return OUTCOMES about many files with what may be shown of files in ROOTS.
That one file has no checker is no news among many; nor is an empty list."
  (let ((verdicts (make-hash-table :test #'equal))
        shown)
    (dolist (outcome outcomes)
      (let ((items (seq-filter
                    (lambda (item)
                      (let ((file (eca-context-collect--item-file item)))
                        (when (eq (gethash file verdicts 'new) 'new)
                          (puthash file (eca-context-files-shown-p file roots) verdicts))
                        (gethash file verdicts)))
                    (plist-get outcome :items))))
        (unless (or (equal (plist-get outcome :status) "no-provider")
                    (and (plist-get outcome :items) (null items))
                    (and (null items)
                         (equal (plist-get outcome :status) "ok")
                         (null (plist-get outcome :fresh))))
          (push (plist-put (copy-sequence outcome) :items items) shown))))
    (nreverse shown)))

(provide 'eca-context-collect)
;;; eca-context-collect.el ends here
